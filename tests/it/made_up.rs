//! Inputs that are made up, and are the same in every run: what passes once passes everywhere. `cargo bolero` goes on
//! with inputs of its own, for as long as one likes.

use std::fmt::Debug;

use bolero::bolero_engine::driver::Options;
use bolero::bolero_engine::input::Bytes;
use bolero::bolero_engine::panic;
use bolero::{Engine, Test};
use fastrand::Rng;

/// So many inputs, made of at most so many bytes each.
pub(crate) struct SameInputs {
    pub(crate) count: usize,
    pub(crate) max_len: usize,
}

impl<T: Test> Engine<T> for SameInputs
where
    T::Value: Debug,
{
    type Output = ();

    /// # Panics
    ///
    /// With the smallest input that fails.
    fn run(self, mut test: T, options: Options) {
        panic::set_hook();
        panic::forward_panic(false);
        let mut random = Rng::with_seed(0);
        let failure = (0..self.count).find_map(|_| {
            let length = random.usize(0..=self.max_len);
            let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
            let error = test.test(&mut Bytes::new(&bytes, &options)).err()?;
            let smallest = test.shrink(bytes.clone(), None, &options);
            Some(smallest.map_or_else(|| format!("{bytes:?}: {error}"), |failure| format!("{failure:#}")))
        });
        panic::forward_panic(true);
        if let Some(failure) = failure {
            panic!("{failure}");
        }
    }
}

/// A test of `bolero` on so many inputs, of at most so many bytes each.
macro_rules! made_up {
    ($count:expr) => {
        made_up!($count, 4_096)
    };
    ($count:expr, $max_len:expr) => {{
        #[cfg(fuzzing)]
        let target = bolero::check!().with_max_len($max_len);
        #[cfg(not(fuzzing))]
        let target = bolero::TestTarget::new($crate::made_up::SameInputs { count: $count, max_len: $max_len });
        target
    }};
}
pub(crate) use made_up;
