// An empty vector with capacity is resized with zeros to a length that the compiler does not know, then overwritten.
// site: resized superfluous calls=1 zeroed=199999 overwritten=199999 kept=0

// `resize` clears n - 1 bytes by memset and moves the value itself into the last one, by a store.
#[inline(never)]
fn resized(n: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(n);
    buffer.resize(n, 0);
    buffer
}

fn main() {
    let mut buffer = resized(std::hint::black_box(200_000));
    let mut state = 3u32;
    for byte in &mut buffer {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    println!("{}", buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>());
}
