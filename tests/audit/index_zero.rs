// A zeroed byte that was never overwritten is used as an index into a table, and for nothing else.
// site: zeroed needed calls=1 zeroed=1200 overwritten=0 kept=1200

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

// The array has 256 items: no bounds check, hence no branch on the index.
#[inline(never)]
fn look_up(table: &[u32; 256], index: u8) -> u32 {
    table[usize::from(index)]
}

fn main() {
    let indices = std::hint::black_box(zeroed(1_200));
    let mut table = [0u32; 256];
    for (i, item) in table.iter_mut().enumerate() {
        *item = i as u32 * 5 + 42;
    }
    println!("{}", look_up(&table, indices[77]));
}
