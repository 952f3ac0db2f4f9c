//! A tool in Rust: the program calls it, the interpreter checks its arguments. `cargo run --example tool`
#![allow(clippy::print_stdout)]

use std::error::Error;

use playhouse::prelude::*;
use serde_json::json;

const PROGRAM: &str = "\
# Order desk
## Order status
### Triggers
- At the beginning
### Steps
- Ask the user for $order_id:str, the number of their order
- $order = GetOrderStatus($order_id)
- Say \"Order {$order_id}: {$order.state}\"
- End program
";

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let orders = tool("GetOrderStatus", |given: Map| async move {
        match given["order_id"].as_str() {
            Some("4334") => Ok(json!({ "state": "shipped", "expected": "Thursday" })),
            _ => Err("there is no such order".to_owned()),
        }
    });
    let orders = orders.about("Looks an order up").parameter("order_id", TypeKind::Str).effect(EffectClass::ReadOnly);
    let playhouse = Playhouse::new().model("embedded").tool(orders);
    let mut chat = playhouse.load_text("orders.md", PROGRAM).await?.start().await?;
    while let Some(turn) = chat.next().await? {
        match turn {
            Turn::Said(text) => println!("{text}"),
            Turn::Asks => chat.say("It's #4334, I think").await?,
            Turn::Approval(question) => chat.answer(question, true).await?,
        }
    }
    Ok(())
}
