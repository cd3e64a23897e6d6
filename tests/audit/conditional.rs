// One site is called ten times: nine buffers are wholly overwritten, one only half.
// site: zeroed mostly calls=10 zeroed=10000 overwritten=9500 kept=500

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn round(i: usize) -> u64 {
    let mut buffer = zeroed(1_000);
    let used = if i == 6 { 500 } else { 1_000 };
    for (at, byte) in buffer[..used].iter_mut().enumerate() {
        *byte = (at * (i + 3) % 250) as u8;
    }
    buffer[..used].iter().map(|&byte| u64::from(byte)).sum()
}

fn main() {
    let mut total = 0;
    for i in 0..std::hint::black_box(10) {
        total += round(i);
    }
    println!("{total}");
}
