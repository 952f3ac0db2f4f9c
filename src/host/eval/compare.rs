//! Two measurements side by side: scores, the difference, where the runs of a case part. Pure.
