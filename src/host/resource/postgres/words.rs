//! Which statements there are for programs. The server's rights and a read-only transaction hold what may be changed;
//! this holds what would change the session that others use next, or leave the database altogether.

/// Statements that read.
const READING: [&str; 6] = ["select", "with", "values", "table", "show", "explain"];

/// Statements that change data or tables.
const WRITING: [&str; 9] = ["insert", "update", "delete", "merge", "create", "alter", "drop", "truncate", "comment"];

/// Looks at the statement's first word.
pub(super) fn check(sql: &str, may_write: bool) -> Result<(), String> {
    let Some(word) = first_word(sql) else { return Err("there is no statement in `sql`".to_owned()) };
    if READING.contains(&word.as_str()) {
        return Ok(());
    }
    if WRITING.contains(&word.as_str()) {
        return if may_write { Ok(()) } else { Err("the database is read-only (`write` of its resource)".to_owned()) };
    }
    let known = if may_write { [READING.as_slice(), &WRITING].concat() } else { READING.to_vec() };
    let known = known.join(", ").to_uppercase();
    Err(format!("statements that begin with {} are refused; use {known}", word.to_uppercase()))
}

/// In lower case; after blanks, comments and parentheses.
fn first_word(sql: &str) -> Option<String> {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(' || c == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, behind)| behind);
        } else if rest.starts_with("/*") {
            rest = behind_comment(rest)?;
        } else {
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            return match (word.is_empty(), rest.chars().next()) {
                (false, _) => Some(word.to_lowercase()),
                (true, other) => other.map(String::from),
            };
        }
    }
}

/// What stands after a block comment; they nest.
fn behind_comment(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        if let Some(inside) = rest.strip_prefix("/*") {
            depth += 1;
            rest = inside;
        } else if let Some(behind) = rest.strip_prefix("*/") {
            depth -= 1;
            rest = behind;
            if depth == 0 {
                return Some(rest);
            }
        } else {
            let mut characters = rest.chars();
            characters.next()?;
            rest = characters.as_str();
        }
    }
}
