// A zeroed bitmap is tested, bit by bit, before a bit is set: the zeros are needed.
// site: empty_bitmap needed calls=1 zeroed=512 overwritten=256 kept=256

#[inline(never)]
fn empty_bitmap(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn first_time(bitmap: &mut [u8], value: usize) -> bool {
    let byte = bitmap[value / 8];
    let bit = 1 << (value % 8);
    if byte & bit != 0 {
        return false;
    }
    bitmap[value / 8] = byte | bit;
    true
}

fn main() {
    let mut bitmap = empty_bitmap(512);
    // 5 is prime to 2048: the 2048 values below 2048 come, each of them twice, and all bits of 256 bytes are set.
    let new = (0..4_096usize).filter(|i| first_time(&mut bitmap, i * 5 % 2_048)).count();
    println!("{new}");
}
