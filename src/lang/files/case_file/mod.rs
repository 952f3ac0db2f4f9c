//! Files of cases (`*.test.md`, `*.triggers.md`, `*.user.md`, `*.judge.md`, `*.rules.md`): the frame that they share. A title, a
//! description and a list at the top, sections with lines, items and tables below; findings with their places.

pub(crate) mod call;

pub(crate) mod item;

pub(crate) mod lines;

pub(crate) mod table;
