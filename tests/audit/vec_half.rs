// Half of a zeroed vector is overwritten, and all of it is added up and printed: the zeros of the other half are used.
// site: zeroed mostly calls=1 zeroed=50000 overwritten=25000 kept=25000

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(50_000);
    let mut state = 7u32;
    for byte in &mut buffer[..25_000] {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    let buffer = std::hint::black_box(buffer);
    println!("{}", buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>());
}
