// A zeroed vector is filled by `read_exact` from a pipe: the kernel overwrites all of it.
// site: zeroed superfluous calls=1 zeroed=40000 overwritten=40000 kept=0

use std::io::{Read, Write};

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() -> std::io::Result<()> {
    let (mut reader, mut writer) = std::io::pipe()?;
    let data: Vec<u8> = (0..40_000u32).map(|i| (i * 11 % 253) as u8).collect();
    writer.write_all(&data)?;
    let mut buffer = zeroed(40_000);
    reader.read_exact(&mut buffer)?;
    println!("{}", buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    Ok(())
}
