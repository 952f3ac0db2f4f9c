//! The embedded model. Most tests have a small random one that they write themselves; those in `with_weights` need
//! the real one.

mod hostile;
mod lazy;
mod small;
mod toy;
mod with_weights;
mod words;
