// The main thread zeroes a buffer, four other threads overwrite it, the last of them not wholly.
// site: zeroed mostly calls=1 zeroed=64000 overwritten=58000 kept=6000

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn fill(part: &mut [u8], seed: usize) -> u64 {
    let used = if seed == 3 { 10_000 } else { part.len() };
    for (i, byte) in part[..used].iter_mut().enumerate() {
        *byte = ((i + seed) * 19 % 251) as u8;
    }
    part[..used].iter().map(|&byte| u64::from(byte)).sum()
}

#[inline(never)]
fn run(buffer: &mut [u8]) -> u64 {
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (seed, part) in buffer.chunks_mut(16_000).enumerate() {
            threads.push(scope.spawn(move || fill(part, seed)));
        }
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    })
}

fn main() {
    let mut buffer = zeroed(64_000);
    println!("{}", run(&mut buffer));
}
