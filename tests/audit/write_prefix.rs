// Only the part of a zeroed buffer that was overwritten is written out: the zeros behind it are never used.
// site: zeroed mostly calls=1 zeroed=4096 overwritten=1500 kept=2596

use std::io::Write;

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() -> std::io::Result<()> {
    let mut buffer = zeroed(4_096);
    for (i, byte) in buffer[..1_500].iter_mut().enumerate() {
        *byte = if i % 60 == 59 { b'\n' } else { b'a' + (i * 7 % 26) as u8 };
    }
    std::io::stdout().write_all(&std::hint::black_box(&buffer)[..1_500])
}
