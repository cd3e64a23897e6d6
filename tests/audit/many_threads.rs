// 24 threads zero and overwrite five buffers each, at one site.
// site: zeroed superfluous calls=120 zeroed=360000 overwritten=360000 kept=0

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn round(seed: usize) -> u64 {
    let mut buffer = zeroed(3_000);
    for (i, byte) in buffer.iter_mut().enumerate() {
        *byte = ((i + seed) * 23 % 241) as u8;
    }
    buffer.iter().map(|&byte| u64::from(byte)).sum()
}

#[inline(never)]
fn work(thread: usize) -> u64 {
    let mut total = 0;
    for i in 0..std::hint::black_box(5) {
        total += round(thread * 100 + i);
    }
    total
}

#[inline(never)]
fn run(count: usize) -> u64 {
    let threads: Vec<_> =
        (0..count).map(|thread| std::thread::spawn(move || work(thread))).collect();
    threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
}

fn main() {
    println!("{}", run(24));
}
