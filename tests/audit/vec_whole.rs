// A zeroed vector is wholly overwritten: the zeroing was superfluous.
// site: zeroed superfluous calls=1 zeroed=100000 overwritten=100000 kept=0

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(100_000);
    let mut state = 1u32;
    for byte in &mut buffer {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    println!("{}", buffer.iter().map(|&byte| u64::from(byte)).sum::<u64>());
}
