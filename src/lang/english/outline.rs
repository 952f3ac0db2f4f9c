//! Where a text in Markdown that nobody wrote for an interpreter has a procedure: headings that count up, a numbered list of
//! orders, check boxes (spec `skills.md`, "Reading").

use std::ops::Range;

use crate::source::markdown::{Block, parse};
use crate::span::{FileId, Span};

/// Fewer lines are no procedure.
const MIN_LINES: usize = 3;

/// How many of a hundred lines begin with an order, at least.
const MIN_ORDERS: usize = 60;

/// Words of headings below which a numbered list is none of things to do.
const NOT_DONE: &str = "anti-patterns antipatterns criteria examples gotchas guidelines limitations mistakes notes output \
                        pitfalls practices principles references rules tips troubleshooting";

/// What stands before an order without being one.
const BEFORE: &str = "then first next finally now afterwards lastly optionally optional always also please";

/// What begins a clause before an order.
const CLAUSE: &str = "if when once for after before while unless in on with as";

/// What an order begins with.
const ORDERS: &str = "
accept access acknowledge activate adapt add address adjust align allow analyse analyze announce answer append apply approve
archive arrange ask assemble assess assign attach audit authenticate avoid await back backup begin benchmark block brainstorm
branch break browse build bump bundle calculate call capture categorize categorise change check choose clarify classify clean
clear click clone close collect combine commit compare compile complete compose compress compute conclude conduct configure
confirm connect consider consolidate construct consult continue convert copy correct count cover craft create crop cross-check
customize customise cut debug decide declare decompose deduplicate define delegate delete deliver deploy derive describe design
detect determine develop diagnose diff disable discard discover discuss dispatch display distribute document download draft
draw drop dry-run duplicate edit elaborate emit enable end enforce engage ensure enter enumerate establish estimate evaluate
examine execute expand experiment explain explore export expose extend extract fetch fill filter finalize finalise find finish
fix flag focus follow format formulate frame gather generate get give go grade grep group guide handle highlight hold identify
ignore implement import improve include incorporate increment index inform initialize initialise inject insert inspect install
integrate interpret interview introduce invent investigate invite invoke isolate iterate join judge keep label launch lay learn
leave limit link lint list listen load locate lock log look loop maintain make manage map mark match measure merge migrate
minimize minimise mock model modify monitor move name narrow navigate normalize normalise note notify observe obtain offer open
optimize optimise order organize organise outline output package parse pass paste patch pay perform persist pick pin place plan
plot polish populate post prefer prepare present preserve preview print prioritize prioritise probe process produce profile
prompt propose prototype provide prune publish pull push put query quote raise rank rate re-check re-read re-run re-test read
rebase rebuild recall receive recheck recommend reconcile record recover reduce refactor refer refine reflect refresh register
reject release reload remember remind remove rename render repeat rephrase replace reply report repro reproduce request rerun
research reset resize resolve respond restart restate restore resume retrieve retry return reuse revert review revise rewrite
roll rotate round run sample save scaffold scan schedule score scope scroll search see seed segment select send separate serve
set setup shape share shorten show sign simplify simulate sketch skim skip solve sort spawn specify spin split stage start
state stop store strip structure study submit suggest summarize summarise supply support surface survey switch sync synthesize
synthesise tag take talk target teach tell terminate test tie tighten trace track transcribe transform translate treat triage
trigger trim try tune turn type understand undo unify uninstall update upgrade upload use validate vary verify view visit
visualize visualise wait walk warn watch weigh wire work wrap write zip zoom";

/// The procedures of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Those that were found, in order.
    pub procedures: Vec<Procedure>,
}

/// Things to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    /// What it is made of.
    pub made_of: MadeOf,
    /// Its lines in order, those that are nested behind the one that they are nested in.
    pub lines: Vec<OutlineLine>,
}

/// What a procedure is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum MadeOf {
    /// `## Step 1: Verify`.
    #[strum(to_string = "step headings")]
    StepHeadings,
    /// `## 1. Verify`.
    #[strum(to_string = "numbered headings")]
    NumberedHeadings,
    /// `1. Verify`.
    #[strum(to_string = "a numbered list")]
    List,
    /// `- [ ] Verify`.
    #[strum(to_string = "check boxes")]
    CheckBoxes,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineLine {
    /// Whether it is nested in the last one that is not.
    pub is_nested: bool,
    /// The heading or the item's own text.
    pub span: Span,
    /// Its words, without marks.
    pub words: String,
    /// All that belongs to it: of a heading the text up to the next one.
    pub whole: Span,
}

impl Outline {
    /// Finds the procedures of a text, which begins at an offset.
    pub fn find(file: FileId, text: &str, from: usize) -> Outline {
        let blocks = parse(text, from);
        let finder = Finder { file, text, blocks: &blocks };
        let mut procedures = finder.of_headings();
        let taken: Vec<Range<usize>> =
            procedures.iter().flat_map(|found| &found.lines).map(|line| line.whole.range()).collect();
        procedures.extend(finder.of_lists(&taken));
        procedures.sort_by_key(|found| found.lines.first().map_or(0, |line| line.span.range().start));
        Outline { procedures }
    }

    /// The same lines as those of one procedure, in the order of the text.
    pub(crate) fn in_one(self) -> Outline {
        let Some(made_of) = self.procedures.first().map(|first| first.made_of) else { return self };
        let mut lines: Vec<OutlineLine> = self.procedures.into_iter().flat_map(|found| found.lines).collect();
        lines.sort_by_key(|line| line.span);
        Outline { procedures: vec![Procedure { made_of, lines }] }
    }

    /// All lines, in order.
    pub fn lines(&self) -> impl Iterator<Item = &OutlineLine> {
        self.procedures.iter().flat_map(|procedure| &procedure.lines)
    }

    /// The ids of all lines: `01`, `02.01`; of several procedures `a01`, `b01`.
    pub fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        for (index, procedure) in self.procedures.iter().enumerate() {
            let letter = if self.procedures.len() > 1 { letters(index) } else { String::new() };
            let (mut number, mut inner) = (0, 0);
            for line in &procedure.lines {
                if line.is_nested {
                    inner += 1;
                    ids.push(format!("{letter}{number:02}.{inner:02}"));
                } else {
                    (number, inner) = (number + 1, 0);
                    ids.push(format!("{letter}{number:02}"));
                }
            }
        }
        ids
    }
}

/// `a` to `z`, then `aa` to `az`, `ba` and so on.
fn letters(index: usize) -> String {
    let before = if index >= 26 { letters(index / 26 - 1) } else { String::new() };
    let letter = u8::try_from(index % 26).map_or('z', |letter| char::from(b'a' + letter));
    format!("{before}{letter}")
}

struct Finder<'t> {
    file: FileId,
    text: &'t str,
    blocks: &'t [Block],
}

/// A heading that counts.
struct Numbered {
    /// Where it stands among the blocks.
    block: usize,
    number: usize,
    is_step: bool,
    is_order: bool,
}

/// An outermost item of a list, and where those end that are nested in it.
struct TopItem {
    block: usize,
    end: usize,
    number: Option<usize>,
    has_box: bool,
    is_order: bool,
}

impl Finder<'_> {
    fn of_headings(&self) -> Vec<Procedure> {
        let mut found = Vec::new();
        for level in 1..=6 {
            let mut run: Vec<Numbered> = Vec::new();
            for (block, heading) in self.blocks.iter().enumerate() {
                let Block::Heading { level: own, range } = heading else { continue };
                if *own < level {
                    found.extend(self.headings(level, &std::mem::take(&mut run)));
                }
                let Some(numbered) = numbered(block, &self.text[range.clone()]).filter(|_| *own == level) else {
                    continue;
                };
                let goes_on = run
                    .last()
                    .is_some_and(|last| last.number + 1 == numbered.number && last.is_step == numbered.is_step);
                if !goes_on {
                    found.extend(self.headings(level, &std::mem::take(&mut run)));
                }
                if goes_on || numbered.number <= 1 {
                    run.push(numbered);
                }
            }
            found.extend(self.headings(level, &run));
        }
        found
    }

    /// A procedure of headings, if these are enough, and most are orders unless they say that they are steps.
    fn headings(&self, level: usize, run: &[Numbered]) -> Option<Procedure> {
        let is_step = run.first()?.is_step;
        if run.len() < MIN_LINES || !(is_step || are_orders(run.iter().map(|heading| heading.is_order))) {
            return None;
        }
        let mut lines = Vec::new();
        for heading in run {
            let Block::Heading { range, .. } = &self.blocks[heading.block] else { continue };
            let is_outer = |block: &&Block| matches!(block, Block::Heading { level: next, .. } if *next <= level);
            let rest = &self.blocks[heading.block + 1..];
            let n_inner = rest.iter().position(|block| is_outer(&block)).unwrap_or(rest.len());
            let end = rest.get(n_inner).map_or(self.text.len(), |block| place(block).start);
            let whole = Span::new(self.file, range.start, end);
            let words = words(self.text[range.clone()].trim_start_matches('#'));
            lines.push(OutlineLine { is_nested: false, span: self.span(range.clone()), words, whole });
            let inner = &rest[..n_inner];
            lines.extend(inner.iter().filter_map(|block| self.nested(block)));
        }
        let made_of = if is_step { MadeOf::StepHeadings } else { MadeOf::NumberedHeadings };
        Some(Procedure { made_of, lines })
    }

    /// An item of a list below another line: what is numbered or has a box. Bullets tell more about that line.
    fn nested(&self, block: &Block) -> Option<OutlineLine> {
        self.item(block, true).filter(|(_, is_counted)| *is_counted).map(|(line, _)| line)
    }

    /// An item, and whether it is numbered or has a box.
    fn item(&self, block: &Block, is_nested: bool) -> Option<(OutlineLine, bool)> {
        let Block::Item(item) = block else { return None };
        let range = item.text.first()?.clone();
        let (has_box, text) = without_box(&self.text[range.clone()]);
        let whole = Span::new(self.file, item.marker.start, item.text.last().map_or(range.end, |last| last.end));
        let line = OutlineLine { is_nested, span: self.span(range), words: words(text), whole };
        Some((line, item.ordered || has_box))
    }

    /// Procedures of lists that do not stand in what is `taken`.
    fn of_lists(&self, taken: &[Range<usize>]) -> Vec<Procedure> {
        let (mut found, mut run): (Vec<Procedure>, Vec<TopItem>) = (Vec::new(), Vec::new());
        let mut is_done = true;
        for (block, one) in self.blocks.iter().enumerate() {
            match one {
                Block::Heading { range, .. } => {
                    found.extend(self.list(&std::mem::take(&mut run)));
                    let title = self.text[range.clone()].to_lowercase();
                    is_done =
                        !title.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| is_in(NOT_DONE, word));
                }
                Block::Item(item) if item.level == 0 => {
                    let Some(range) = item.text.first() else { continue };
                    let (has_box, text) = without_box(&self.text[range.clone()]);
                    let number =
                        item.ordered.then(|| self.text[item.marker.clone()].trim_end_matches(['.', ')']).parse().ok());
                    let number: Option<usize> = number.flatten();
                    let end = self.blocks[block + 1..].iter().take_while(|next| is_inner(next)).count() + block + 1;
                    let item = TopItem { block, end, number, has_box, is_order: is_order(text) };
                    let is_free = is_done && !taken.iter().any(|whole| whole.contains(&range.start));
                    if !is_free || !run.last().is_none_or(|last| goes_on(last, &item)) {
                        found.extend(self.list(&std::mem::take(&mut run)));
                    }
                    if is_free && (has_box || item.number.is_some()) {
                        run.push(item);
                    }
                }
                Block::Item(_) | Block::Fence { .. } | Block::Text(_) => {}
            }
        }
        found.extend(self.list(&run));
        found
    }

    fn list(&self, run: &[TopItem]) -> Option<Procedure> {
        let has_boxes = run.first()?.has_box;
        if run.len() < MIN_LINES || !(has_boxes || are_orders(run.iter().map(|item| item.is_order))) {
            return None;
        }
        let mut lines = Vec::new();
        for top in run {
            let blocks = &self.blocks[top.block..top.end];
            let own = blocks.iter().take(1).filter_map(|block| Some(self.item(block, false)?.0));
            let inner = blocks.iter().skip(1).filter_map(|block| self.nested(block));
            lines.extend(own.chain(inner));
        }
        Some(Procedure { made_of: if has_boxes { MadeOf::CheckBoxes } else { MadeOf::List }, lines })
    }

    fn span(&self, range: Range<usize>) -> Span {
        let length = self.text[range.clone()].trim_end().len();
        Span::new(self.file, range.start, range.start + length)
    }
}

fn place(block: &Block) -> Range<usize> {
    match block {
        Block::Heading { range, .. } | Block::Fence { range, .. } | Block::Text(range) => range.clone(),
        Block::Item(item) => item.marker.clone(),
    }
}

fn is_inner(block: &Block) -> bool {
    matches!(block, Block::Item(item) if item.level > 0)
}

/// Whether an item belongs to the list of the one before it. What Markdown takes for two lists, since something stands between
/// them, is one for people as long as it counts on.
fn goes_on(last: &TopItem, item: &TopItem) -> bool {
    let counts = |(before, now): (usize, usize)| now == before + 1 || (now == before && item.block == last.end);
    match last.number.zip(item.number) {
        Some(numbers) => counts(numbers) && last.has_box == item.has_box,
        None => last.has_box && item.has_box && last.number.is_none() && item.number.is_none(),
    }
}

fn are_orders(orders: impl ExactSizeIterator<Item = bool>) -> bool {
    let n_all = orders.len();
    orders.filter(|is_order| *is_order).count() * 100 >= n_all * MIN_ORDERS
}

/// `## Step 3: …`, `### 2) …`.
fn numbered(block: usize, heading: &str) -> Option<Numbered> {
    let title = heading.trim_start_matches('#').trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = title.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_step = ["step", "phase", "stage"].iter().any(|word| first.eq_ignore_ascii_case(word));
    let rest = if is_step { title[first.len()..].trim_start_matches([' ', '#', '-']) } else { title };
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest[..n_digits].parse().ok()?;
    let after = &rest[n_digits..];
    // Not `3D models`, not `2.1 Details`.
    let mut signs = after.chars();
    let ends = |c: char| matches!(c, '.' | ')' | ':' | '-' | '–' | '—' | '*') || c.is_whitespace();
    let is_number = signs.next().is_none_or(ends) && !signs.next().is_some_and(|c| c.is_ascii_digit());
    let words = after.trim_start_matches(|c: char| !c.is_alphanumeric());
    is_number.then(|| Numbered { block, number, is_step, is_order: is_order(words) })
}

/// Whether a text begins with an order, after words that only lead to it.
fn is_order(text: &str) -> bool {
    let mut rest = bare(text);
    for _ in 0..3 {
        let (first, after) = split_word(rest);
        let lower = first.to_lowercase();
        if is_in(ORDERS, &lower) {
            return true;
        }
        let next = if is_in(CLAUSE, &lower) {
            after.split_once(',').map(|(_, after)| after)
        } else {
            is_in(BEFORE, &lower).then_some(after)
        };
        match next {
            Some(next) => rest = bare(next),
            // `**Tests**: run them`.
            None => match text.split_once("**:").or_else(|| text.split_once(":**")) {
                Some((_, after)) if rest != bare(after) => rest = bare(after),
                _ => return false,
            },
        }
    }
    false
}

fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Without signs at the beginning.
fn bare(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// The first word, with hyphens in it, and what follows.
fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(text.len());
    (text[..end].trim_end_matches('-'), &text[end..])
}

/// A check box at the beginning, and what follows.
fn without_box(text: &str) -> (bool, &str) {
    let mark = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| text.strip_prefix(mark));
    mark.map_or((false, text), |rest| (true, rest.trim_start()))
}

/// The first line, without marks of emphasis.
fn words(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.replace("**", "").trim().trim_end_matches('#').trim_end().to_owned()
}
