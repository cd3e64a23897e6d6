// A buffer is cleared and resized with zeros before each of eight rounds, and each round overwrites all of it.
// site: prepared superfluous calls=8 zeroed=40000 overwritten=40000 kept=0

#[inline(never)]
fn prepared(buffer: &mut Vec<u8>, n: usize) -> usize {
    buffer.clear();
    buffer.resize(n, 0);
    buffer.len()
}

#[inline(never)]
fn round(buffer: &mut Vec<u8>, seed: u32) -> u64 {
    prepared(buffer, 5_000);
    let mut state = seed;
    for byte in buffer.iter_mut() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    buffer.iter().map(|&byte| u64::from(byte)).sum()
}

fn main() {
    let mut buffer = Vec::with_capacity(5_000);
    let mut total = 0;
    for seed in 0..std::hint::black_box(8) {
        total += round(&mut buffer, seed);
    }
    println!("{total}");
}
