// The program panics when 600 of 1,000 bytes are overwritten; unwinding frees the buffer.
// exit: 101
// site: zeroed mostly calls=1 zeroed=1000 overwritten=600 kept=400

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn item(i: usize) -> u8 {
    if i == 600 {
        panic!("no item {i}");
    }
    (i * 3 % 200 + 1) as u8
}

fn main() {
    // The default hook prints the thread's number, which differs from run to run.
    std::panic::set_hook(Box::new(|_| eprintln!("panicked")));
    println!("{}", item(599));
    let mut buffer = zeroed(1_000);
    for (i, byte) in buffer.iter_mut().enumerate() {
        *std::hint::black_box(byte) = item(i);
    }
    println!("{}", buffer[999]);
}
