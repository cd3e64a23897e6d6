// A line is put into a larger zeroed buffer and read up to its newline: the zeros behind it are never reached.
// site: zeroed mostly calls=1 zeroed=2048 overwritten=31 kept=2017

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(2_048);
    buffer[..31].copy_from_slice(std::hint::black_box(b"length=40, width=15, height=12\n"));
    let buffer = std::hint::black_box(buffer);
    let end = buffer.iter().position(|&byte| byte == b'\n').expect("a newline");
    let line = &buffer[..end];
    let digits = line.iter().filter(|byte| byte.is_ascii_digit()).count();
    println!("{} {digits}", String::from_utf8_lossy(line));
}
