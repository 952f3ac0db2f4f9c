//! A conversation that several benches have.

/// A conversation without end: each turn of the model takes an answer, speaks and asks again.
pub(crate) const CONVERSATION: &str = "\
# Shop
A shop that sells tea.
## Main
### Triggers
- At the beginning
### Steps
- Ask the user for $order_id
- Tell the user what is known about $order_id, and be kind
- If the user wants to know more, go back to step 1
- Ask the user for $more
";

/// One reply of that conversation, some 320 characters.
pub(crate) const REPLY: &str = concat!(
    r#"{"at":"01","set":{"order_id":"43345678"}}"#,
    "\n",
    r#"{"at":"02","say":"Thank you! Your order 43345678 left our house on Monday and is on its way to you. "#,
    r#"It should be with you on Tuesday, between 9 and 12 in the morning. "}"#,
    "\n",
    r#"{"at":"03"}"#,
    "\n",
    r#"{"at":"01","say":"Which other order would you like to ask about?"}"#,
    "\n",
    r#"{"at":"01","wait":"user"}"#,
    "\n",
);
