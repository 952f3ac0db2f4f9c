//! Slips that authors make, one at a time, in a program that has none: each is found, by the finding that leads to it.

use playhouse::lang::program::{Parameter, Signature, Type};
use playhouse::lang::{Fields, LoadOptions, SourceText, load};

const PROGRAM: &str = "# Tea shop

Answers customers.

## Take back($order_id: str)

### Steps

- $order = GetOrder($order_id)
- $refund = 0
- For each $item in $order.items
  - $accepted = MayComeBack($item)
  - If $accepted
    - $refund = $refund + $item.price
    - Tell the user that $item.name can come back
- If $refund is 0
  - Say \"Nothing of it can come back.\"
- Otherwise
  - Tell the user that $refund euros come back to them
- Return $refund

## MayComeBack($item)

### Steps

- If $item.kind is \"tea\", return false
- Return true

## Welcome

### Triggers

- At the beginning

### Steps

- Ask the user for $order_id:str
- TakeBack($order_id)
";

/// What is written instead of what, and the finding.
const BREAKS: [(&str, &str, &str); 39] = [
    ("= MayComeBack($item)", "= MayComeBak($item)", "unknown-callee"),
    ("= MayComeBack($item)", "= MayComeBack($item, 3)", "wrong-arguments"),
    ("= MayComeBack($item)", "= MayComeBack(itm=$item)", "wrong-arguments"),
    ("= MayComeBack($item)", "= MayComeBack($item $order)", "nearly-understood"),
    ("GetOrder($order_id)", "FetchOrder($order_id)", "unknown-callee"),
    ("GetOrder($order_id)", "GetOrder($order_id", "nearly-understood"),
    ("If $accepted", "If $acepted", "read-before-written"),
    ("$refund euros", "$refnd euros", "unknown-variable"),
    ("$order_id:str", "$order_id:sting", "unknown-type"),
    ("$order_id: str", "$order_id: sting", "unknown-type"),
    ("    - $refund =", "  - $refund =", "nothing-nested"),
    ("  - If $accepted", " - If $accepted", "odd-indentation"),
    ("  - If $accepted", "   - If $accepted", "odd-indentation"),
    ("  - If $accepted", "\t- If $accepted", "odd-indentation"),
    ("### Steps", "### Step", "unknown-heading"),
    ("### Steps", "###Steps", "heading-without-space"),
    (
        "### Triggers\n\n- At the beginning\n\n### Steps",
        "### Triggers\n\n- At the beginning\n\n## Steps",
        "heading-level",
    ),
    ("- Return $refund\n", "- Tell them\n\n### Steps\n\n- Return 1\n", "section-twice"),
    ("## MayComeBack($item)", "## MayComeBack($item", "bad-signature"),
    ("## Welcome", "## Welcome(", "bad-signature"),
    ("- If $refund is 0\n  - Say \"Nothing of it can come back.\"\n", "", "else-without-if"),
    ("  - Tell the user that $refund euros come back to them\n", "", "nothing-nested"),
    ("- Return $refund", "- Repeat 3 times\n- Return $refund", "nothing-nested"),
    ("come back.\"", "come back.", "nearly-understood"),
    ("- Return $refund", "- Retrun $refund", "nearly-understood"),
    ("- Return $refund", "- Return refund", "nearly-understood"),
    ("- $refund = 0", "- refund = 0", "nearly-understood"),
    ("Ask the user for $order_id:str", "Ask the user forr $order_id", "nearly-understood"),
    ("If $refund is 0", "If $refund is more then 0", "nearly-understood"),
    ("If $refund is 0", "If $order_id is emtpy", "nearly-understood"),
    ("- At the beginning", "- At the beginning\n- When $amout > 5", "unknown-variable"),
    ("# Tea shop", "---\nmodle: x\n---\n# Tea shop", "unknown-setting"),
    ("# Tea shop", "---\ndeny: [SaveFiles]\n---\n# Tea shop", "unknown-setting"),
    ("# Tea shop", "---\nmodel: x\n# Tea shop", "bad-front-matter"),
    ("# Tea shop", "---\nmodel: [x\n---\n# Tea shop", "bad-front-matter"),
    (
        "- Return $refund",
        "- Ask the user for $n:int\n- If $n is \"abc\"\n  - Say \"x\"\n- Return $refund",
        "never-equal",
    ),
    ("- If $refund is 0", "- If $order is not found, return 0\n- If $refund is 0", "unquoted-word"),
    ("- TakeBack($order_id)", "- Take back the order", "near-call"),
    ("$order.items", "$order.itmes", "unknown-field"),
];

fn findings(text: String) -> Vec<&'static str> {
    let id = Parameter { name: "order_id".into(), ty: Type::ANY, default: None, description: "".into(), span: None };
    let (parameters, summary) = (vec![id], "".into());
    let tools = [Signature { name: "GetOrder".into(), parameters, returns: Type::ANY, summary }];
    let fields = Fields::from([("GetOrder".into(), vec!["items".into(), "state".into()])]);
    let options = LoadOptions { tools: &tools, fields: Some(&fields), ..LoadOptions::default() };
    let root = SourceText { name: "shop.md".to_owned(), text };
    let loaded = load(vec![root], &mut |_| Err("nothing".to_owned()), &options);
    loaded.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn a_slip_of_an_author_is_found() {
    assert_eq!(findings(PROGRAM.to_owned()), [] as [&str; 0], "the program has no slip");
    let mut missed = Vec::new();
    for (written, slip, code) in BREAKS {
        assert!(PROGRAM.contains(written), "{written}");
        let found = findings(PROGRAM.replacen(written, slip, 1));
        if !found.contains(&code) {
            missed.push(format!("{slip:?}: no `{code}`, but {found:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
