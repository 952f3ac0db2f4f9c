//! Vectors in memory: one byte per number, compared with all of them.

use simsimd::SpatialSimilarity;

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
    /// Their numbers, one vector after the other.
    numbers: Vec<i8>,
}

impl Vectors {
    /// Takes in a vector; one of another dimension than the first is none of this model.
    pub(super) fn push(&mut self, chunk: i64, scale: f32, bytes: &[u8]) {
        if self.chunks.is_empty() {
            self.dimension = bytes.len();
        }
        if bytes.len() == self.dimension {
            self.chunks.push((chunk, scale));
            self.numbers.extend(bytes.iter().map(|byte| byte.cast_signed()));
        }
    }

    /// The chunks that are nearest to a vector, the nearest first, each with the cosine.
    pub(super) fn nearest(&self, vector: &[f32], n_chunks: usize) -> Vec<(i64, f32)> {
        let Numbers { scale: own_scale, bytes } = Numbers::of(vector);
        let wanted: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
        let all = self.numbers.chunks_exact(self.dimension.max(1)).zip(&self.chunks);
        // Of one that has as many numbers as the others: there are no others here.
        let product = |numbers: &[i8]| i8::dot(numbers, &wanted).unwrap_or_default() as f32;
        let cosine = |numbers: &[i8], scale: f32| product(numbers) * scale * own_scale;
        let mut found: Vec<(i64, f32)> =
            all.map(|(numbers, (chunk, scale))| (*chunk, cosine(numbers, *scale))).collect();
        let nearest_first = |one: &(i64, f32), other: &(i64, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
        if found.len() > n_chunks {
            found.select_nth_unstable_by(n_chunks, nearest_first);
            found.truncate(n_chunks);
        }
        found.sort_unstable_by(nearest_first);
        found
    }
}
