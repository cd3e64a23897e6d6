// A zeroed vector grows by `push` and is then partly overwritten: realloc carries the zeroed bytes to the new block.
// site: zeroed mostly calls=1 zeroed=700 overwritten=450 kept=250

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

fn main() {
    let mut buffer = zeroed(700);
    for i in 0..1_000usize {
        buffer.push((i % 100) as u8);
    }
    // After the growth: what is overwritten lies in the new block.
    for (i, byte) in std::hint::black_box(&mut buffer)[100..550].iter_mut().enumerate() {
        *byte = (i * 3 % 211) as u8;
    }
    println!(
        "{} {}",
        buffer.len(),
        buffer[100..550].iter().map(|&byte| u64::from(byte)).sum::<u64>()
    );
}
