//! A conversation: each line of standard input is what the user says. `cargo run --example conversation`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::stdin;

use playhouse::prelude::*;

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = stdin().lines();
    let playhouse = Playhouse::new().model("embedded");
    let mut chat = playhouse.load("examples/greeting.md").await?.start().await?;
    while let Some(turn) = chat.next().await? {
        match turn {
            Turn::Said(text) => println!("{text}"),
            Turn::Asks => match lines.next() {
                Some(line) => chat.say(line?).await?,
                None => break,
            },
            Turn::Approval(question) => {
                println!("{} (y/n)", question.text);
                let is_yes = matches!(lines.next(), Some(Ok(line)) if line == "y");
                chat.answer(question, is_yes).await?;
            }
        }
    }
    Ok(())
}
