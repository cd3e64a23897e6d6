// Of each record of eight bytes five are overwritten: the kept bytes are spread over the whole buffer.
// site: zeroed mostly calls=1 zeroed=8000 overwritten=5000 kept=3000

#[inline(never)]
fn zeroed(n: usize) -> Vec<u8> {
    vec![0; n]
}

#[inline(never)]
fn put(record: &mut [u8], value: u32, tag: u8) {
    record[..4].copy_from_slice(&value.to_le_bytes());
    record[4] = tag;
}

fn main() {
    let mut buffer = zeroed(8_000);
    for (i, record) in buffer.chunks_exact_mut(8).enumerate() {
        put(record, (i * 1_000_003) as u32, (i % 26) as u8 + b'a');
    }
    let buffer = std::hint::black_box(buffer);
    let mut sum = 0u64;
    let mut tags = 0u64;
    for record in buffer.chunks_exact(8) {
        sum += u64::from(u32::from_le_bytes([record[0], record[1], record[2], record[3]]));
        tags += u64::from(record[4]);
    }
    println!("{sum} {tags}");
}
