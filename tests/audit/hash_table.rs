// An open-addressing hash table tests its zeroed control bytes before it takes a slot: the zeros are needed.
// site: control_bytes needed calls=1 zeroed=1024 overwritten=300 kept=724

#[inline(never)]
fn control_bytes(n: usize) -> Vec<u8> {
    vec![0; n]
}

// True if the key is new; each of the 300 new keys overwrites one control byte, after it was seen to be zero.
#[inline(never)]
fn insert(control: &mut [u8], keys: &mut [u64], key: u64) -> bool {
    let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut slot = (hash >> 54) as usize;
    while control[slot] != 0 {
        if keys[slot] == key {
            return false;
        }
        slot = (slot + 1) % control.len();
    }
    control[slot] = (hash as u8) | 0x80;
    keys[slot] = key;
    true
}

fn main() {
    let mut control = control_bytes(1_024);
    let mut keys = Vec::new();
    keys.resize(1_024, u64::MAX);
    let new = (0..900u64).filter(|i| insert(&mut control, &mut keys, i % 300 * 17)).count();
    println!("{new}");
}
