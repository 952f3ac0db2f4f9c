//! A listener: hears what a program does, line by line. `cargo run --example events`
#![allow(clippy::print_stdout, clippy::wildcard_enum_match_arm)]

use std::error::Error;

use playhouse::prelude::*;

const PROGRAM: &str = "\
# Counter
## Count
### Triggers
- At the beginning
### Steps
- $n = 1 + 1
- If $n > 1
  - Say \"There are {$n}\"
- End program
";

fn hear(event: &PublicEvent) {
    let line = event.line.as_deref().unwrap_or("-");
    match &event.body {
        PublicBody::LineReached {} => println!("{line}"),
        PublicBody::VariableSet { variable, value, .. } => println!("{line} ${variable} = {value}"),
        PublicBody::Said { text } => println!("{line} {text}"),
        PublicBody::Finished { .. } => println!("finished"),
        _ => {}
    }
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let playhouse = Playhouse::new().model("embedded").listen(hear);
    let mut chat = playhouse.load_text("counter.md", PROGRAM).await?.start().await?;
    while chat.next().await?.is_some() {}
    Ok(())
}
