// All but the last byte are overwritten, and a branch tests all of them: one zero is used.
// site: zeroed mostly calls=1 zeroed=4096 overwritten=4095 kept=1

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(4_096);
    for (i, byte) in buffer[..4_095].iter_mut().enumerate() {
        *byte = (i * 13 % 7) as u8;
    }
    let buffer = std::hint::black_box(buffer);
    let mut above = 0;
    for &byte in &buffer {
        if std::hint::black_box(byte) > 3 {
            above += 1;
        }
    }
    println!("{above}");
}
