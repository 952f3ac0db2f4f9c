//! A program as it was: the folder of a revision of git, in a temporary folder.
