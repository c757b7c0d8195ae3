// Rust names for test-symbolizer and tests/symbols.

use std::fmt::Display;

struct Basket<T> {
    things: Vec<T>,
}

impl<T: Display + Clone> Basket<T> {
    #[inline(never)]
    fn describe(&self) -> String {
        let mut text = String::new();
        for thing in &self.things {
            text.push_str(&thing.to_string());
        }
        text
    }
}

#[inline(always)]
fn twice(x: u64) -> u64 {
    x.wrapping_mul(2)
}

mod deep {
    #[inline(never)]
    pub fn sum(n: u64) -> u64 {
        (0..n).map(|x| super::twice(x) ^ n).fold(0, u64::wrapping_add)
    }
}

fn main() {
    let n = std::env::args().count() as u64;
    let basket = Basket { things: vec![n, n + 1] };
    println!("{} {}", basket.describe(), deep::sum(n + 10));
}
