//! The texts that an editor has open.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use gen_lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};

use crate::host::config::Environment;
use crate::host::library::{self, LibraryFile};
use crate::lang::kind::{self, Kind};
use crate::span::{SourceFile, Span};

/// A longer text is not read.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// How an editor counts columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// In bytes.
    Utf8,
    /// In units of UTF-16: what the protocol has where nothing else is agreed.
    Utf16,
}

/// A text, and where its lines begin: of a document, or of a program's file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'t>(&'t SourceFile);

/// A text that is open.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) uri: Uri,
    pub(super) version: i32,
    file: SourceFile,
    /// An edit could not be made: it is not what the editor shows until that sends the whole.
    is_stale: bool,
}

/// All that are open, by the names that programs have for their files.
#[derive(Debug, Default)]
pub(super) struct Documents(HashMap<String, Document>);

impl<'t> Text<'t> {
    /// That of a file.
    pub(super) fn of(file: &'t SourceFile) -> Text<'t> {
        Text(file)
    }

    pub(super) fn as_str(self) -> &'t str {
        &self.0.text
    }

    /// The offset of a position, in bytes. A column behind a line's end is its end, as the protocol has it; none: there is
    /// no such line.
    pub(super) fn offset(self, position: Position, columns: Columns) -> Option<usize> {
        let start = self.0.lines.line_start(position.line as usize + 1)?;
        let line = self.as_str()[start..].split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let wanted = position.character as usize;
        let within = match columns {
            Columns::Utf8 => line.floor_char_boundary(wanted.min(line.len())),
            Columns::Utf16 => {
                let mut units = 0;
                line.char_indices()
                    .find(|(_, c)| {
                        units += c.len_utf16();
                        units > wanted
                    })
                    .map_or(line.len(), |(at, _)| at)
            }
        };
        Some(start + within)
    }

    /// The position of an offset; one outside of the text is its end.
    pub(super) fn position(self, offset: usize, columns: Columns) -> Position {
        let offset = self.as_str().floor_char_boundary(offset.min(self.as_str().len()));
        let (line, column) = self.0.lines.line_column(offset);
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let before = &self.as_str()[offset - (column - 1)..offset];
        let column = match columns {
            Columns::Utf8 => before.len(),
            Columns::Utf16 => before.encode_utf16().count(),
        };
        Position { line: number(line - 1), character: number(column) }
    }

    /// The range of a span.
    pub(super) fn range(self, span: Span, columns: Columns) -> Range {
        let range = span.range();
        Range { start: self.position(range.start, columns), end: self.position(range.end, columns) }
    }
}

impl Document {
    /// Its text.
    pub(super) fn text(&self) -> Text<'_> {
        Text(&self.file)
    }

    /// Makes an edit; whether it could be.
    fn edit(&mut self, change: TextDocumentContentChangeEvent, columns: Columns) -> bool {
        let written = match change {
            TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => whole.text,
            TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                let place = |position| self.text().offset(position, columns);
                let (Some(start), Some(end)) = (place(part.range.start), place(part.range.end)) else { return false };
                if start > end {
                    return false;
                }
                let text = self.text().as_str();
                [&text[..start], &part.text, &text[end..]].concat()
            }
        };
        self.file = SourceFile::new(self.file.name.clone(), written);
        true
    }

    /// Whether it is a program by itself: a playbook, or a plan.
    pub(super) fn is_program(&self) -> bool {
        matches!(self.kind(), Some(Kind::Playbook | Kind::JsonPlan))
    }

    /// What it is, as its name and text tell; none: nothing of ours, or too long.
    pub(super) fn kind(&self) -> Option<Kind> {
        if self.is_too_long() { None } else { kind::of(&self.file.name, &self.file.text) }
    }

    /// Whether it is longer than any text that is read.
    pub(super) fn is_too_long(&self) -> bool {
        self.file.text.len() > MAX_BYTES
    }
}

impl Documents {
    /// A text is open from now on; what it is called.
    pub(super) fn open(&mut self, uri: Uri, version: i32, text: String) -> String {
        let name = name_of(&uri);
        let file = SourceFile::new(name.as_str(), text);
        self.0.insert(name.clone(), Document { uri, version, file, is_stale: false });
        name
    }

    /// Makes edits, in order; what was edited, and whether all could be made.
    pub(super) fn edit(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        columns: Columns,
    ) -> Option<(String, bool)> {
        let name = name_of(uri);
        let document = self.0.get_mut(&name)?;
        let was_stale = document.is_stale;
        for change in changes {
            let is_whole = matches!(change, TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(_));
            // What is typed into a text that we do not have goes astray.
            if document.is_stale && !is_whole {
                continue;
            }
            document.is_stale = !document.edit(change, columns);
        }
        document.version = version;
        Some((name, !document.is_stale || was_stale))
    }

    /// A text is closed: its file counts again. What it was called.
    pub(super) fn close(&mut self, uri: &Uri) -> Option<String> {
        let name = name_of(uri);
        self.0.remove(&name).map(|_| name)
    }

    /// What they are called.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// The text of a file: as it is open, else as it is on the disk.
    ///
    /// # Errors
    /// It is not open, and cannot be read.
    pub(super) fn read(&self, path: &Path) -> io::Result<String> {
        match self.get(&path.to_string_lossy()) {
            Some(document) => Ok(document.text().as_str().to_owned()),
            None => std::fs::read_to_string(path),
        }
    }

    /// The one of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Document> {
        self.0.get(name)
    }

    /// The one at this address, with its name; none: it is not open, or an edit of it could not be made.
    pub(super) fn at(&self, uri: &Uri) -> Option<(String, &Document)> {
        let name = name_of(uri);
        self.0.get(&name).filter(|document| !document.is_stale).map(|document| (name, document))
    }
}

/// Where copies of the library's files are; none: there is no place for them. An editor can open files alone.
static LIBRARY: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let version = concat!("playhouse/library-", env!("CARGO_PKG_VERSION"));
    Some(Environment::read().cache_home?.join(version))
});

/// What a program calls a file: its path; of what is in no file the address.
pub(super) fn name_of(uri: &Uri) -> String {
    let Ok(path) = uri.to_file_path() else { return uri.to_string() };
    let is_copy = |file: &&LibraryFile| LIBRARY.as_deref().is_some_and(|folder| file.copy_in(folder) == path);
    let library = library::FILES.iter().find(is_copy);
    library.map_or_else(|| path.to_string_lossy().into_owned(), |file| file.path.to_owned())
}

/// The address of a program's file. A copy of one of the library's is written where there is none.
pub(super) fn uri_of(name: &str) -> Option<Uri> {
    let copy = || {
        let file = Some(name).filter(|name| library::is_library(name)).and_then(|name| library::find(name).ok())?;
        let written = file.write_copy(LIBRARY.as_deref()?);
        written.inspect_err(|error| tracing::warn!(%error, name, "a file of the library could not be shown")).ok()
    };
    let path = copy().unwrap_or_else(|| PathBuf::from(name));
    Uri::from_file_path(path).ok().or_else(|| Uri::parse(name).ok())
}
