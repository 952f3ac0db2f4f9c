//! How long rules take on many sessions (spec `evaluate.md`, section 12: 4,000 sessions of 20 turns and 20 rules in less
//! than 10 s, on two processors, in release).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use playhouse::host::checks::{Verdict, verify};
use playhouse::host::journal::Durability;
use playhouse::host::journal::address::{Address, Place};
use playhouse::host::journal::record::{Begun, Record, RecordBody};
use playhouse::host::journal::tail::TailBuffer;
use playhouse::host::travel::each_run;

use crate::checks::checks;
use crate::travel::cases::records;
use crate::world::{Chunking, World, begin, parse, play};

const N_SESSIONS: usize = 4_000;

/// Of two turns each.
const N_ROUNDS: usize = 10;

const PROGRAM: &str = "\
--- program
# Desk
Helps with orders.
## Help
### Triggers
- At the beginning
### Steps
- Help the user with their orders until they are content
- Say \"Bye.\"
--- tools
Verify(id) read_only
Refund(id, amount = 0) write
";

const RULES: &str = "\
Refund($id) only knowing Verify($id) returns {\"ok\": true}
Refund($id) only after Verify($id)
at most 1 Refund($id)
at most 2 Refund($id, $amount) per $id
never Refund(amount: 7)
never says /voucher/
never says /(?i)card number/
Refund only if $id is provided
Refund(amount: $a) only if $a is at most 100
after Refund($id) never Verify($id)
after Verify($id) until Refund($id) never says /refunded $/
Verify($id) is followed by Refund($id) within 2 turns
user says /refund/ is followed by says /refunded/
user says /human/ is followed by says /colleague/ within 2 turns
reaches Help:01
Verify 10 times
$id is \"order-9\"
turns at most 30
tokens at most 100000
depth at most 2
";

fn case() -> String {
    let mut case = PROGRAM.to_owned();
    for round in 0..N_ROUNDS {
        let id = format!("order-{round}");
        let ask =
            "{\"at\":\"01\",\"say\":\"What can I do for you? I can look up orders, change them and refund them.\"}";
        let _ = writeln!(
            case,
            "--- reply\n{ask}\n{{\"at\":\"01\",\"wait\":\"user\"}}\n--- user Please refund {id}, it never came"
        );
        let call = |tool: &str| format!("{{\"at\":\"01\",\"call\":\"{tool}\",\"args\":{{\"id\":\"{id}\"}}}}");
        let (verify, refund) = (call("Verify"), call("Refund"));
        let set = format!("{{\"at\":\"01\",\"set\":{{\"id\":\"{id}\"}}}}");
        let _ = writeln!(
            case,
            "--- reply\n{set}\n{verify}\n{{\"at\":\"01\",\"wait\":\"calls\"}}\n--- result Verify\n{{\"ok\": true}}"
        );
        let said = "{\"at\":\"01\",\"say\":\"It is refunded, and the money will be there in a few days.\"}";
        let _ = writeln!(
            case,
            "--- reply\n{refund}\n{said}\n{{\"at\":\"01\",\"wait\":\"calls\"}}\n--- result Refund\nnull"
        );
    }
    case
}

/// Puts so many sessions with these records into a place.
async fn fill(place: &Place, records: &[Record]) -> Vec<Address> {
    let mut addresses = Vec::new();
    for number in 0..N_SESSIONS {
        let address = place.address(&format!("session-{number}")).unwrap();
        let mut journal = TailBuffer::new(address.open().await.unwrap());
        for record in records {
            let body = if let RecordBody::Begun(begun) = &record.body {
                let session = format!("session-{number}").into();
                RecordBody::Begun(Box::new(Begun { session, ..Begun::clone(begun) }))
            } else {
                record.body.clone()
            };
            journal.append(record.timestamp(), body, false);
        }
        journal.flush(Durability::Killed).await.unwrap();
        journal.close().await;
        addresses.push(address);
    }
    addresses
}

#[test]
#[ignore = "a measurement: run in release"]
#[allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a measurement looks at the clock and prints")]
fn many_sessions() {
    let case = parse(&case());
    let world = play(World::new(begin(&case)), &case, Chunking::Size(24));
    let records = records(&case, &world);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let checks = Arc::new(checks(RULES, world.machine.program(), &case.tools).unwrap());
    for name in ["folder", "all.sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::at(&folder.path().join(name));
        let addresses = runtime.block_on(fill(&place, &records));
        let checks = checks.clone();
        let before = Instant::now();
        let done = runtime.block_on(each_run(addresses, move |run| verify(&checks, &run)));
        let took = before.elapsed();
        let verdicts = done.iter().flat_map(|(_, verified)| verified.as_ref().unwrap());
        let n_hold = verdicts.filter(|verified| verified.verdict == Verdict::Holds).count();
        println!("{name}: {N_SESSIONS} sessions of {} records, {n_hold} verdicts hold: {took:.2?}", records.len());
        assert_eq!(done.len(), N_SESSIONS);
    }
}
