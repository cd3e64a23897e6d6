// The program ends by `process::exit` while a wholly overwritten buffer is alive.
// exit: 7
// site: zeroed superfluous calls=1 zeroed=2500 overwritten=2500 kept=0

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(2_500);
    for (i, byte) in buffer.iter_mut().enumerate() {
        *byte = (i * 9 % 247) as u8;
    }
    println!("{}", std::hint::black_box(&buffer).iter().map(|&byte| u64::from(byte)).sum::<u64>());
    std::process::exit(7);
}
