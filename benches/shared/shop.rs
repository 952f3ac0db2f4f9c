//! Programs of any length with all kinds of lines.

use std::fmt::Write as _;

/// All kinds of lines, 20 of them; `{n}` is the playbook's number, `{next}` the next one's.
const LINES: &str = "\
- Say \"Hello, {$name}\"
- Ask user for $order_id:str and $email
- Set $count to 3
- $status = Playbook{next}($order_id, verbose=true)
- If $status is \"lost\" and $count is at least 2, tell the user that we are sorry
- Else if $status.items[0].price > 20:
  - For each $item in $status.items
    - Tell the user about $item and what it costs
    - Add $item to $cart
- Otherwise
  - Repeat 3 times
    - $total = ($count + 1) * 2 - length of $cart
    - If the user is tired of this, return $total
- While $count < 10
  - $count = $count + 1
- Repeat until the user is happy
  - Ask the user what else they want, store it in $wish
- Think about $wish carefully and write down in $plan what has to be done
- If $count > 100, end program
- Return {\"total\": $total, \"plan\": $plan}
";

/// A program of so many lines, in playbooks of so many.
pub(crate) fn program(n_lines: usize, lines_per_playbook: usize) -> String {
    let mut text = "---\nmodel: openai:gpt\nvariables: {name: Ada}\n---\n# Shop\nA shop.\n".to_owned();
    let n_playbooks = n_lines.div_ceil(lines_per_playbook);
    for n in 0..n_playbooks {
        let _ = write!(text, "\n## Playbook{n}($id: str = \"\", $verbose = false) -> dict\nDoes something.\n\n");
        let trigger = if n == 0 { "At the beginning".to_owned() } else { format!("When $total is more than {n}") };
        let _ = write!(text, "### Triggers\n- {trigger}\n\n### Steps\n");
        for _ in 0..lines_per_playbook.div_ceil(20) {
            text.push_str(&LINES.replace("{next}", &((n + 1) % n_playbooks).to_string()));
        }
        text.push_str("\n### Notes\nBe brief.\n");
    }
    text
}
