// A vector grows by a zeroed chunk before each read, until end of file: only the last chunk keeps its zeros.
// site: grown mostly calls=6 zeroed=24576 overwritten=20480 kept=4096

use std::io::{Read, Write};

// Reads give 4 * 4096, then 1616, then nothing: the rest of the fifth chunk is cleared again with the sixth, of which
// nothing is overwritten.
#[inline(never)]
fn grown(buffer: &mut Vec<u8>) -> usize {
    let filled = buffer.len();
    buffer.resize(filled + 4_096, 0);
    filled
}

fn main() -> std::io::Result<()> {
    let (mut reader, mut writer) = std::io::pipe()?;
    let data: Vec<u8> = (0..18_000u32).map(|i| (i * 7 % 251) as u8).collect();
    writer.write_all(&data)?;
    drop(writer);
    let mut buffer = Vec::with_capacity(1_000);
    loop {
        let filled = grown(&mut buffer);
        let read = reader.read(&mut buffer[filled..])?;
        buffer.truncate(filled + read);
        if read == 0 {
            break;
        }
    }
    println!("{} {}", buffer.len(), buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    Ok(())
}
