// A zeroed vector is compared with another slice of 4 KiB, by memcmp, and nothing of it is overwritten.
// site: zeroed needed calls=1 zeroed=4096 overwritten=0 kept=4096

static OTHER: [u8; 4_096] = [0; 4_096];

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let buffer = std::hint::black_box(zeroed(4_096));
    let other = std::hint::black_box(&OTHER[..]);
    println!("{}", if buffer == other { "equal" } else { "different" });
}
