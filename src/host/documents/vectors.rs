//! Vectors in memory: one byte per number, compared with all of them.

/// The direction of a vector: its numbers, each to be multiplied by `scale`.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) scale: f32,
    /// As SQLite keeps them.
    pub(super) bytes: Vec<u8>,
}

impl Numbers {
    /// The direction of `vector`; nothing if it has none.
    pub(super) fn of(vector: &[f32]) -> Numbers {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let most = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        if !(length.is_finite() && most > 0.0) {
            return Numbers { scale: 0.0, bytes: vec![0; vector.len()] };
        }
        // From -127 to 127.
        let byte = |number: &f32| ((number / most * 127.0).round() as i8).cast_unsigned();
        Numbers { scale: most / 127.0 / length, bytes: vector.iter().map(byte).collect() }
    }
}

/// The vectors of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Vectors {
    /// Numbers of a vector.
    pub(super) dimension: usize,
    /// The chunk of each, and the scale of its numbers.
    chunks: Vec<(i64, f32)>,
    /// Their numbers, each plus 128, eight in a word, one vector after the other.
    words: Vec<u64>,
}

impl Vectors {
    /// Takes in a vector; one of another dimension than the first is none of this model.
    pub(super) fn push(&mut self, chunk: i64, scale: f32, bytes: &[u8]) {
        if self.chunks.is_empty() {
            self.dimension = bytes.len();
        }
        if bytes.len() == self.dimension {
            self.chunks.push((chunk, scale));
            self.words.extend(bytes.chunks(8).map(|bytes| {
                let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
                // The sign's bit turned is 128 more.
                word ^ 0x8080_8080_8080_8080
            }));
        }
    }

    /// The chunks that are nearest to a vector, the nearest first, each with the cosine.
    pub(super) fn nearest(&self, vector: &[f32], n_chunks: usize) -> Vec<(i64, f32)> {
        let Numbers { scale: own_scale, bytes } = Numbers::of(vector);
        let wanted = Factors::of(&bytes);
        let all = self.words.chunks_exact(self.dimension.div_ceil(8).max(1)).zip(&self.chunks);
        let cosine = |words: &[u64], scale: f32| wanted.product(words) as f32 * scale * own_scale;
        let mut found: Vec<(i64, f32)> = all.map(|(words, (chunk, scale))| (*chunk, cosine(words, *scale))).collect();
        let nearest_first = |one: &(i64, f32), other: &(i64, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
        if found.len() > n_chunks {
            found.select_nth_unstable_by(n_chunks, nearest_first);
            found.truncate(n_chunks);
        }
        found.sort_unstable_by(nearest_first);
        found
    }
}

/// A vector that others are multiplied by, two numbers with one multiplication: of (a + b·2³²)·(d + c·2³²) the upper half is
/// a·c + b·d. That needs no instructions for many numbers at once, which the compiler uses only at its highest level.
struct Factors {
    /// For each word of a vector, the factors of its numbers 0 and 4, 1 and 5, 2 and 6, 3 and 7.
    words: Vec<[u64; 4]>,
    /// What the product has too much, as each number of a vector has 128 more.
    excess: i64,
}

impl Factors {
    fn of(bytes: &[u8]) -> Factors {
        let numbers: Vec<i64> = bytes.iter().map(|byte| i64::from(byte.cast_signed())).collect();
        let pairs = |eight: &[i64]| {
            let at = |index: usize| eight.get(index).copied().unwrap_or(0);
            std::array::from_fn(|index| (at(index + 4) + (at(index) << 32)).cast_unsigned())
        };
        Factors { words: numbers.chunks(8).map(pairs).collect(), excess: 128 * numbers.iter().sum::<i64>() }
    }

    fn product(&self, words: &[u64]) -> i64 {
        /// The first and the fifth byte of a word.
        const PAIR: u64 = 0xff | 0xff << 32;
        let mut sum = 0_u64;
        for (word, factors) in words.iter().zip(&self.words) {
            sum = sum
                .wrapping_add((word & PAIR).wrapping_mul(factors[0]))
                .wrapping_add((word >> 8 & PAIR).wrapping_mul(factors[1]))
                .wrapping_add((word >> 16 & PAIR).wrapping_mul(factors[2]))
                .wrapping_add((word >> 24 & PAIR).wrapping_mul(factors[3]));
        }
        // The lower half is a sum, too, and may be below zero: then it has taken one from the upper half.
        (sum.wrapping_add(1 << 31).cast_signed() >> 32) - self.excess
    }
}
