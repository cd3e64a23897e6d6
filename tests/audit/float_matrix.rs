// A product of matrices is accumulated with `+=` into a zeroed vector of `f64`: the zeros are needed.
// site: result needed calls=1 zeroed=32768 overwritten=0 kept=32768

#[inline(never)]
fn result(n: usize) -> Vec<f64> {
    vec![0.0; n * n]
}

#[inline(never)]
fn add_product(into: &mut [f64], row: &[f64], factor: f64) {
    for (sum, item) in into.iter_mut().zip(row) {
        *sum += factor * item;
    }
}

fn main() {
    let n = 64;
    let a: Vec<f64> = (0..n * n).map(|i| (i % 10) as f64 + 1.0).collect();
    let b: Vec<f64> = (0..n * n).map(|i| (i % 7) as f64 + 1.0).collect();
    let mut c = result(n);
    for i in 0..n {
        for k in 0..n {
            add_product(&mut c[i * n..][..n], &b[k * n..][..n], a[i * n + k]);
        }
    }
    println!("{} {}", c[0], c.iter().sum::<f64>());
}
