// Zeroed counters are incremented and all of them printed: the zeros are what the counts begin with.
// site: counters needed calls=1 zeroed=1024 overwritten=0 kept=1024

#[inline(never)]
fn counters(n: usize) -> Vec<u32> {
    vec![0; n]
}

#[inline(never)]
fn count(counts: &mut [u32], value: u8) {
    counts[usize::from(value)] += 1;
}

fn main() {
    let mut counts = counters(256);
    // Only values below 200 come: 200 counters of four bytes are overwritten.
    for i in 0..3_000usize {
        count(&mut counts, (i * 7 % 200) as u8);
    }
    for line in counts.chunks(16) {
        println!("{line:?}");
    }
}
