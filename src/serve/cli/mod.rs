//! The command line.

pub mod test_file;
