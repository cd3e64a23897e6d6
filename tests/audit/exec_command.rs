// The program partly overwrites a buffer, then replaces itself with `/bin/echo` through `execvp`.
// site: zeroed mostly calls=1 zeroed=3500 overwritten=2100 kept=1400

use std::os::unix::process::CommandExt;

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(3_500);
    for (i, byte) in buffer[..2_100].iter_mut().enumerate() {
        *byte = (i * 17 % 249) as u8;
    }
    let sum: u64 = std::hint::black_box(&buffer)[..2_100].iter().map(|&byte| u64::from(byte)).sum();
    let error = std::process::Command::new("/bin/echo").arg(sum.to_string()).exec();
    panic!("{error}");
}
