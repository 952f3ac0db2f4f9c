//! Files of cases (`*.test.md`, `*.triggers.md`, `*.user.md`, `*.judge.md`, `*.rules.md`): the frame that they share. A title, a
//! description and a list at the top, sections with lines, items and tables below; findings with their places.

pub mod call;

mod check;

pub mod item;

pub mod lines;

pub mod mention;

pub mod names;

pub mod table;
