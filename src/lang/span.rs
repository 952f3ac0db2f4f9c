//! Places in source text: files, byte ranges, and the way from a byte offset to a line and column.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// One source file of a program, by its position in [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A byte range in one file: `start..end`, both on character boundaries, `start <= end <= file length`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file the range lies in.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// With `{:-?}` it is no place: so two values that hold spans anywhere are compared but for places, field by field, with
/// those that come later, too.
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.sign_minus() {
            return f.write_str("Span");
        }
        f.debug_struct("Span").field("file", &self.file).field("start", &self.start).field("end", &self.end).finish()
    }
}

impl Span {
    /// A range in `file`; an `end` before `start` is read as an empty range at `start`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        let end = u32::try_from(end).unwrap_or(u32::MAX).max(start);
        Span { file, start, end }
    }

    /// The range as `usize`, for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest range that holds both; `other` must be in the same file, else `self` is returned.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The part of it that `range` is, in bytes counted from its start.
    #[must_use]
    pub fn part(self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.file, self.range().start + range.start, self.range().start + range.end)
    }

    /// Whether a range of its file overlaps it or lies directly beside it; an offset is an empty range.
    pub fn touches(self, range: &std::ops::Range<usize>) -> bool {
        self.range().start <= range.end && range.start <= self.range().end
    }

    /// Whether `offset` lies inside the range (its end excluded).
    pub fn contains(self, offset: usize) -> bool {
        self.range().contains(&offset)
    }
}

/// Byte offsets of line starts, for turning an offset into a line and column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes `text`.
    pub fn new(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(offset, _)| u32::try_from(offset + 1).unwrap_or(u32::MAX));
        LineIndex { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The line and column of `offset`, both counted from 1; the column counts bytes.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let line = self.starts.partition_point(|&start| start <= offset);
        (line, (offset - self.starts[line - 1]) as usize + 1)
    }

    /// How many lines the text has; an empty text has one.
    pub fn n_lines(&self) -> usize {
        self.starts.len()
    }

    /// The byte offset at which `line` (from 1) begins, if the text has that line.
    pub fn line_start(&self, line: usize) -> Option<usize> {
        self.starts.get(line.checked_sub(1)?).map(|&start| start as usize)
    }
}

/// One file's name and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The name shown to people, as it was given (`examples/hello.md`).
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// Its line starts.
    pub lines: LineIndex,
}

impl SourceFile {
    /// A file with this name and text.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceFile {
        let text = text.into();
        SourceFile { name: name.into(), lines: LineIndex::new(&text), text }
    }
}

/// A range of a file as people and editors count: from 1, columns in characters; the end is after the last character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the words above say it")]
pub struct FileRange {
    /// The file's name; empty for a file that is not there.
    pub file: Arc<str>,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
}

/// The files of one program, in load order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    files: Vec<SourceFile>,
}

impl Sources {
    /// Adds a file and gives its id.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile::new(name, text));
        id
    }

    /// The file with `id`, if it was added here.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// All files with their ids, in load order.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        (0..).map(FileId).zip(&self.files)
    }

    /// The text of a span; empty if the span lies outside its file.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|file| file.text.get(span.range())).unwrap_or("")
    }

    /// `file:line:column` of the span's start.
    pub fn place(&self, span: Span) -> String {
        match self.get(span.file) {
            Some(file) => {
                let (line, column) = file.lines.line_column(span.start as usize);
                format!("{}:{line}:{column}", file.name)
            }
            None => "<unknown>".to_owned(),
        }
    }

    /// The span as a range of its file, cut at the file's end.
    pub fn file_range(&self, span: Span) -> FileRange {
        let Some(file) = self.get(span.file) else {
            return FileRange { file: "".into(), line: 1, column: 1, end_line: 1, end_column: 1 };
        };
        let place = |offset: u32| {
            let offset = (offset as usize).min(file.text.len());
            let (line, column) = file.lines.line_column(offset);
            let start = offset + 1 - column;
            (line, file.text.get(start..offset).map_or(column, |text| text.chars().count() + 1))
        };
        let ((line, column), (end_line, end_column)) = (place(span.start), place(span.end));
        FileRange { file: file.name.clone(), line, column, end_line, end_column }
    }
}
