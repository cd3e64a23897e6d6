// A branch tests one byte while it is zero, then all are overwritten: the zero was needed, though none is kept.
// site: zeroed needed calls=1 zeroed=3000 overwritten=3000 kept=0

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn is_fresh(buffer: &[u8]) -> bool {
    buffer[1_500] == 0
}

fn main() {
    let mut buffer = zeroed(3_000);
    if is_fresh(&buffer) {
        println!("fresh");
    }
    for (i, byte) in buffer.iter_mut().enumerate() {
        *byte = (i * 7 % 240 + 1) as u8;
    }
    println!("{}", buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>());
}
