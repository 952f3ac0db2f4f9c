//! Procedures in texts that nobody wrote for an interpreter.

use playhouse::lang::outline::Outline;
use playhouse::span::FileId;

use crate::fuzz::text_of;
use crate::made_up::made_up;

/// What each procedure is made of, and its lines with their ids.
fn outline(text: &str) -> String {
    let found = Outline::find(FileId(0), text, 0);
    let mut ids = found.ids().into_iter();
    let line = |words: &String| format!("{} {words}", ids.next().unwrap());
    let words = found.procedures.iter().map(|found| {
        (found.made_of.to_string(), found.lines.iter().map(|line| line.words.clone()).collect::<Vec<_>>())
    });
    let (kinds, words): (Vec<String>, Vec<Vec<String>>) = words.unzip();
    format!("{}: {}", kinds.join(" + "), words.concat().iter().map(line).collect::<Vec<_>>().join(" | "))
}

#[test]
fn a_procedure_is_found_in_headings_lists_and_boxes() {
    let cases = [
        (
            "## Step 1: Ask\n\n## Step 2 - Wait\n\n## Step 3\n",
            "step headings: 01 Step 1: Ask | 02 Step 2 - Wait | 03 Step 3",
        ),
        (
            "### Phase 0: A\n1. x\n- y\n### Phase 1: B\n- [ ] z\n### Phase 2: C\n",
            "step headings: 01 Phase 0: A | 01.01 x | 02 Phase 1: B | 02.01 z | 03 Phase 2: C",
        ),
        ("## 1. Ask\n## 2. Wait\n## 3. Things\n", "numbered headings: 01 1. Ask | 02 2. Wait | 03 3. Things"),
        (
            "1. Ask\n2. If asked, **answer** it\n3. Then wait\n",
            "a numbered list: 01 Ask | 02 If asked, answer it | 03 Then wait",
        ),
        // What stands between does not end it, as long as it counts on.
        ("1. Ask\n\n```sh\nls\n```\n\n2. Run it\n\ntext\n\n3. Wait\n", "a numbered list: 01 Ask | 02 Run it | 03 Wait"),
        (
            "1. Ask\n   1. Say why\n   - a remark\n1. Wait\n1. Stop\n",
            "a numbered list: 01 Ask | 01.01 Say why | 02 Wait | 03 Stop",
        ),
        (
            "1. **Order**: look it up\n2. **Refund:** pay it\n3. The end\n",
            "a numbered list: 01 Order: look it up | 02 Refund: pay it | 03 The end",
        ),
        ("- [ ] tests\n- [x] docs\n- [ ] release\n", "check boxes: 01 tests | 02 docs | 03 release"),
        (
            "1. Ask\n2. Wait\n3. Stop\n\n# More\n\n1. Open it\n2. Read it\n3. Close it\n",
            "a numbered list + a numbered list: a01 Ask | a02 Wait | a03 Stop | b01 Open it | b02 Read it | b03 Close it",
        ),
        // None: too few, no orders, rules, numbers that are none.
        ("## Step 1\n## Step 2\n", ": "),
        ("1. Ask\n2. Wait\n", ": "),
        ("1. The cat\n2. A dog\n3. Ask\n", ": "),
        ("## Rules\n\n1. Ask\n2. Wait\n3. Stop\n", ": "),
        ("## 3D models\n## 2.1 Check\n## 2.2 Run\n", ": "),
        ("## Step 2\n## Step 3\n## Step 5\n## Step 6\n", ": "),
    ];
    for (text, expected) in cases {
        assert_eq!(outline(text), expected, "{text}");
    }
}

#[test]
fn any_text_has_an_outline() {
    const PIECES: [&str; 14] = [
        "# ",
        "## Step ",
        "1",
        "2",
        "3",
        "– ",
        ". ",
        "1. Ask\n",
        "2. Wait\n",
        "- [ ] x\n",
        "  1) é\n",
        "```\n",
        "\n",
        "**a**: ",
    ];
    made_up!(2_000, 60).for_each(|bytes: &[u8]| {
        let text: String = bytes.iter().map(|byte| PIECES[usize::from(*byte) % PIECES.len()]).collect();
        for text in [text, text_of(bytes)] {
            let found = Outline::find(FileId(0), &text, 0);
            let lines: Vec<_> = found.procedures.iter().flat_map(|found| &found.lines).collect();
            assert_eq!(found.ids().len(), lines.len());
            lines.iter().for_each(|line| assert!(text.get(line.whole.range()).is_some(), "{text:?}"));
        }
    });
}
