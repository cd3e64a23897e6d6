// One site is called twice: the first buffer is wholly overwritten, the second is only read.
// site: zeroed mostly calls=2 zeroed=6000 overwritten=3000 kept=3000

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn round(fill: bool) -> usize {
    let mut buffer = zeroed(3_000);
    if fill {
        for (i, byte) in buffer.iter_mut().enumerate() {
            *byte = (i % 3) as u8;
        }
    }
    std::hint::black_box(&buffer).iter().filter(|&&byte| std::hint::black_box(byte) == 0).count()
}

fn main() {
    let mut counts = Vec::new();
    for i in 0..std::hint::black_box(2) {
        counts.push(round(i == 0));
    }
    println!("{counts:?}");
}
