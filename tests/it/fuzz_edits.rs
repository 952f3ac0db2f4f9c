//! What is read of an edited program is what would be read of its text by itself, with every place: whatever the text, and
//! whatever the edits (spec `editors.md`, section 3).

use playhouse::lang::program::{Program, TriggerIndex};
use playhouse::lang::{ImportRequest, LoadOptions, Loaded, Readings, SourceText, load, load_again};

use crate::fuzz::text_of;
use crate::made_up::made_up;

/// Programs to begin with: what is typed into one of these mostly leaves it one.
const PROGRAMS: [&str; 4] = [
    "\
---
variables: {name: Ada}
---
# Shop
Sells things.

## Main
### Triggers
- At the beginning
- When $total is more than 3
- Before calling Pay
- The user is angry
### Steps
- Say \"Hello, {$name}\"
- Ask user for $order_id:int and $email
- $status = GetOrder($order_id)
- If $status is \"lost\", tell the user
  - Set $total to 3
- Look for ordr in totl and cll Get Order
- Return $stats
### Notes
Be brief about $total.

## GetOrder($id: int = 3) -> dict
public: true
Looks it up.
### Steps
- Repeat 3 times
  - $email = $id + 1
- Think about it
- Return {\"id\": $id}
- Say \"never\"

## Pay
Pays, with no lines.
",
    "\
#!/usr/bin/env playhouse
## Before
### Steps
- Main()
!import a.md
# One
## Main
## Steps
- Before()
- One.Other(3)
# Two
variables: {x: 1}
## Other($n)
### Triggers
- When Before fails
- Before calling Othr
### Steps
- ```
  ## no heading
  ```
- Return $n
<!-- a remark
## Hidden
-->
## Last
1. First
2. Second
",
    "A text\n\n---\nmodel: x\n# Late\n## P\n### Step\n- $x = 1\n\n   ## Indented\n### Steps\n- P($x)\n> ## Quoted\n",
    "",
];

/// What is typed besides pieces of programs.
const TYPED: [&str; 16] = [
    "\n\n## New\n### Steps\n- Say \"x\"\n",
    "\n# Agent\n",
    "```\n",
    "<!--",
    "-->",
    "\n---\n",
    "\n===\n",
    "    ",
    "$name",
    "$n",
    "\n### Triggers\n- When $x changes\n",
    "\n- GetOrder($email)\n",
    "\n- Call Get Order with 3\n",
    "import: [a.md]\n",
    "\n!import a.md\n",
    "é",
];

fn read(request: &ImportRequest<'_>) -> Result<SourceText, String> {
    let text = "## Imported($y)\n### Steps\n- Set $total to $y\n- Main()\n!import a.md\n".to_owned();
    if request.path == "a.md" { Ok(SourceText { name: "a.md".to_owned(), text }) } else { Err("none".to_owned()) }
}

fn root(text: &str) -> Vec<SourceText> {
    vec![SourceText { name: "edited.md".to_owned(), text: text.to_owned() }]
}

/// All of a program but its indexes, whose order in memory is any.
fn written(program: &Program) -> String {
    let mut program = program.clone();
    program.agents.iter_mut().for_each(|agent| agent.triggers = TriggerIndex::default());
    format!("{program:?}")
}

/// Makes the edits that the bytes stand for, one after the other.
pub(crate) fn edits_one(bytes: &[u8]) {
    let Some((&first, mut rest)) = bytes.split_first() else { return };
    let mut text = PROGRAMS[first as usize % PROGRAMS.len()].to_owned();
    if text.is_empty() {
        (text, rest) = (text_of(&rest[..rest.len() / 2]), &rest[rest.len() / 2..]);
    }
    let options = LoadOptions::default();
    let mut before: Option<(Program, Readings)> = None;
    loop {
        let (Loaded { program, diagnostics }, readings) = load_again(before, root(&text), &mut read, &options);
        let alone = load(root(&text), &mut read, &options);
        assert_eq!(written(&program), written(&alone.program), "{text:?}");
        assert!(program.agents.iter().zip(&alone.program.agents).all(|(now, alone)| now.triggers == alone.triggers));
        assert_eq!(diagnostics, alone.diagnostics, "{text:?}");
        before = Some((program, readings));
        let [high, low, length, what, more @ ..] = rest else { return };
        rest = more;
        let place = usize::from(u16::from_be_bytes([*high, *low]));
        let from = text.floor_char_boundary(place % (text.len() + 1));
        // Mostly something is typed; sometimes a part is taken out.
        let taken = if *length < 128 { 0 } else { usize::from(length - 128) };
        let to = text.floor_char_boundary((from + taken).min(text.len()));
        let typed = match what.checked_sub(200) {
            Some(index) => TYPED[usize::from(index) % TYPED.len()].to_owned(),
            None => text_of(&[*what]),
        };
        text.replace_range(from..to.max(from), &typed);
    }
}

#[test]
fn edits() {
    made_up!(600, 41).for_each(edits_one);
}
