// A zeroed vector is filled by `read_exact` from standard input, through the reader's own buffer.
// stdin: The quick brown fox jumps over the lazy dog, and the dog sleeps on until the evening.
// site: zeroed superfluous calls=1 zeroed=72 overwritten=72 kept=0

use std::io::Read;

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() -> std::io::Result<()> {
    let mut buffer = zeroed(72);
    std::io::stdin().lock().read_exact(&mut buffer)?;
    println!("{}", String::from_utf8_lossy(&buffer));
    Ok(())
}
