//! Reading `## Model`: a reply in a fence with its options, or bullets by hand.

use super::bullet::bullet;
use super::bullet_form::{Bullet, What};
use super::form::{Chunks, ScriptedReply, WrittenBullet};
use crate::files::case_file::item::{json_prefix, regex};
use crate::files::case_file::lines::{Fence, Line, Reader};
use crate::files::case_file::mention::{LineName, MentionKind, Owner};
use crate::files::case_file::names;

/// The options of a reply.
const OPTIONS: [&str; 4] = ["when", "when any", "chunks", "error"];

impl Reader {
    /// Options, then one fence.
    pub(super) fn read_reply(&mut self, heading: Line<'_>, lines: &[Line<'_>]) -> Option<ScriptedReply> {
        let n_findings = self.findings.len();
        let mut reply = ScriptedReply::default();
        let mut has_text = false;
        let mut rest = lines.iter().copied();
        while let Some(line) = rest.next() {
            let text = line.text();
            if line.n_ticks() >= 3 && !has_text {
                has_text = true;
                let body: Vec<Line<'_>> = rest.by_ref().take_while(|inner| !inner.closes(line.n_ticks())).collect();
                reply.text = body.iter().map(|line| line.raw).collect::<Vec<_>>().join("\n");
                let mut at = None;
                body.iter().for_each(|line| self.mention_all(*line, names::traced(line.raw, &mut at)));
            } else if let (Some(option), false) = (text.strip_prefix("- "), has_text) {
                self.read_reply_option(&mut reply, line, option);
            } else if !text.is_empty() {
                self.unexpected(
                    line,
                    "`## Model`",
                    "a reply is bullets (`- 02: yes`), or options (`- when: …`) and then one fenced block",
                );
            }
        }
        if let (Some(first), false) = (lines.iter().find(|line| line.n_ticks() >= 3), fences_close(lines)) {
            self.report(*first, "open-fence", "this fence is not closed", "close it with a line of as many backticks");
        }
        if !has_text && reply.error.is_none() && self.findings.len() == n_findings {
            self.empty(
                heading,
                "write the reply as bullets (`- 02: yes`) or a fenced block, or `- error: …` for a request that fails",
            );
        }
        (self.findings.len() == n_findings).then_some(reply)
    }

    /// Bullets by hand, one a line.
    pub(super) fn read_bullets(&mut self, lines: &[Line<'_>]) -> Option<Vec<WrittenBullet>> {
        let n_findings = self.findings.len();
        let mut bullets = Vec::new();
        for &line in lines.iter().filter(|line| !line.text().is_empty()) {
            match line.text().strip_prefix("- ").map(str::trim) {
                Some(item) if is_option(item) => {
                    let next = "options go above a fenced block; a bullet answers when its line is asked about";
                    self.report(line, "option-of-bullets", format!("`{item}` is among bullets"), next);
                }
                Some(item) => {
                    let bullet = self.accept(line, bullet(item));
                    bullet.iter().for_each(|bullet| self.mention_bullet(line, item, bullet));
                    bullets.extend(bullet.map(|bullet| WrittenBullet { line: line.number, bullet }));
                }
                None => self.unexpected(line, "`## Model`", "begin every bullet with `- `, on one line"),
            }
        }
        (self.findings.len() == n_findings).then_some(bullets)
    }

    /// The line of a bullet, and what is called and set there.
    fn mention_bullet(&mut self, line: Line<'_>, item: &str, bullet: &Bullet) {
        let end = match &bullet.line {
            LineName::Text(_) => json_prefix(item).unwrap_or(0),
            LineName::Id(name) | LineName::Goal(name) => name.len(),
        };
        let (written, rest) = item.split_at(end);
        self.mention(line, written, MentionKind::Line(bullet.line.clone()));
        let of = Owner::Line(bullet.line.clone());
        self.mention_all(line, names::variables(rest, &of));
        match &bullet.what {
            What::Calls { name, arguments } => {
                let callee = rest.find(&**name).and_then(|at| rest.get(at..at + name.len()));
                self.mention_all(line, callee.map(|callee| (callee, MentionKind::Callable(name.to_string()))));
                self.mention_all(line, names::given(rest, arguments, &Owner::Playbook(name.to_string())));
            }
            What::Sets(values) => {
                self.mention_all(line, names::given(rest, values, &Owner::SetBy(bullet.line.clone())));
            }
            What::Yes | What::No | What::Says(_) | What::Done | What::Waits | What::Skips(_) | What::Returns(_) => {}
        }
    }

    fn read_reply_option(&mut self, reply: &mut ScriptedReply, line: Line<'_>, option: &str) {
        let (key, value) =
            option.split_once(':').map_or((option.trim(), ""), |(key, value)| (key.trim(), value.trim()));
        let place = match key {
            "when" => &mut reply.when,
            "when any" => &mut reply.when_any,
            "error" => &mut reply.error,
            "chunks" => {
                let sizes: Option<Vec<usize>> =
                    value.split(',').map(|size| size.trim().parse().ok().filter(|&size| size > 0)).collect();
                reply.chunks = match sizes {
                    Some(sizes) => Some(Chunks::Sizes(sizes)),
                    None if value == "bytes" => Some(Chunks::Bytes),
                    None => {
                        let message = format!("`{value}` is not a way to cut a reply");
                        self.report(line, "bad-chunks", message, "write `bytes`, or sizes in bytes (`3, 5, 8`)");
                        None
                    }
                };
                return;
            }
            _ => {
                let next = "options are `when`, `when any`, `chunks` and `error`";
                return self.report(line, "unknown-key", format!("a reply has no option `{key}`"), next);
            }
        };
        if value.is_empty() {
            let next = "write one after the colon, or remove the line";
            return self.report(line, "empty-value", format!("`{key}` has no value"), next);
        }
        *place = Some(value.to_owned());
        if key.starts_with("when") {
            self.accept(line, regex(value));
        }
    }
}

/// Whether a reply is bullets by hand: it has no fence, and not only options.
pub(super) fn is_written(lines: &[Line<'_>]) -> bool {
    let is_bullet = |line: &Line<'_>| line.text().strip_prefix("- ").is_some_and(|item| !is_option(item));
    lines.iter().any(is_bullet) && lines.iter().all(|line| line.n_ticks() < 3)
}

/// Whether an item of a reply is an option.
fn is_option(item: &str) -> bool {
    item.split_once(':').is_some_and(|(key, _)| OPTIONS.contains(&key.trim()))
}

/// Whether every fence that the lines open is closed again.
fn fences_close(lines: &[Line<'_>]) -> bool {
    let mut fence = Fence::default();
    for &line in lines {
        fence.holds(line);
    }
    !fence.is_open()
}
