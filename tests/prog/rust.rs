// A generic function, a trait method and inlined calls with known names and lines: the code at AT:x
// is in function x.
//
// usage: rust [ROUNDS]
use std::arch::asm;

// The compiler cannot know the result (std::hint::black_box is too new for Debian's rustc).
macro_rules! opaque {
    ($x:expr) => {{
        let mut x: u64 = $x;
        unsafe { asm!("/* {0} */", inout(reg) x) };
        x
    }};
}

trait Mix {
    fn mix(&self, x: u64) -> u64;
}

struct Mixer {
    rounds: u64,
}

impl Mix for Mixer {
    #[inline(always)]
    fn mix(&self, x: u64) -> u64 {
        let mut y = x;
        for _ in 0..self.rounds {
            let z = y.wrapping_mul(6364136223846793005);
            y = opaque!(z.wrapping_add(1442695040888963407)); // AT:mix
        }
        y
    }
}

#[inline(always)]
fn apply<M: Mix>(mixer: &M, x: u64) -> u64 {
    mixer.mix(x + 1) // AT:apply
}

#[inline(never)]
fn outermost(mixer: &Mixer, x: u64) -> u64 {
    let y = apply(mixer, x & 0xffff); // AT:outermost
    opaque!(y)
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(500u64);
    let mixer = Mixer { rounds: opaque!(300_000) };
    let mut state = 1u64;
    for _ in 0..rounds {
        state = outermost(&mixer, state); // AT:main
    }
    println!("state {}", (state != 0) as u32);
}
