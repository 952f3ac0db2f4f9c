//! The harnesses of `dap::framing`, `fuzz`, `fuzz_plans`, `fuzz_dataflow`, `fuzz_edits`, `fuzz_component`, `fuzz_embedded`
//! and `fuzz_reply` on many inputs, the properties of `properties` on as many programs, and measurements that are drawn by
//! chance: the same every time. `cargo test` leaves them out; `.ci/run` runs them in release.

use fastrand::Rng;

use crate::checks::grammar::check_one;
use crate::checks::naive::monitors_are_right;
use crate::dap::framing::dap_framing_one;
use crate::evaluate::measured::a_model_is_not_told_to_differ_from_itself;
use crate::fuzz::{expr_one, lang_parse_one};
use crate::fuzz_component::{component_check_one, component_config_one, types};
use crate::fuzz_dataflow::{dataflow_expr_one, dataflow_read_one};
use crate::fuzz_edits::edits_one;
use crate::fuzz_embedded::embedded_reads_one;
use crate::fuzz_plans::plan_decode_one;
use crate::fuzz_reply::reply_read_one;
use crate::properties::{requests_are_bounded, secrets_stay_secret};
use crate::stats::what_can_be_seen;

/// Inputs for each harness.
const N_INPUTS: usize = 200_000;

/// Programs for each property.
const N_PROGRAMS: u64 = 25_000;

fn bytes(random: &mut Rng, most: usize) -> Vec<u8> {
    let length = random.usize(0..=most);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn lang_parse() {
    let mut random = Rng::with_seed(1);
    for _ in 0..N_INPUTS {
        lang_parse_one(&bytes(&mut random, 120));
    }
}

#[test]
#[ignore = "200,000 edits: run in release by .ci/run"]
fn edits() {
    let mut random = Rng::with_seed(13);
    for _ in 0..N_INPUTS / 10 {
        // The program, and ten edits of four bytes.
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(41).collect();
        edits_one(&bytes);
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn expr() {
    let mut random = Rng::with_seed(2);
    for _ in 0..N_INPUTS {
        expr_one(&bytes(&mut random, 60));
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn reply_read() {
    let mut random = Rng::with_seed(3);
    for _ in 0..N_INPUTS {
        let (input, cuts) = (bytes(&mut random, 120), bytes(&mut random, 8));
        reply_read_one(&input, &cuts, random.u8(..));
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn dataflow_read() {
    let mut random = Rng::with_seed(4);
    for _ in 0..N_INPUTS {
        dataflow_read_one(&bytes(&mut random, 120));
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn dataflow_expr() {
    let mut random = Rng::with_seed(5);
    for _ in 0..N_INPUTS {
        dataflow_expr_one(&bytes(&mut random, 40));
    }
}

#[test]
#[ignore = "50,000 inputs, nine plans each: run in release by .ci/run"]
fn plan_decode() {
    let mut random = Rng::with_seed(6);
    for _ in 0..N_INPUTS / 4 {
        plan_decode_one(&bytes(&mut random, 150));
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn component_config() {
    let mut random = Rng::with_seed(8);
    for _ in 0..N_INPUTS {
        component_config_one(&bytes(&mut random, 60));
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn component_check() {
    let mut random = Rng::with_seed(9);
    let config = types();
    for _ in 0..N_INPUTS {
        component_check_one(&config, &bytes(&mut random, 120));
    }
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn checks() {
    let mut random = Rng::with_seed(12);
    for _ in 0..N_INPUTS {
        check_one(&String::from_utf8_lossy(&bytes(&mut random, 60)));
    }
}

#[test]
#[ignore = "200,000 traces: run in release by .ci/run"]
fn monitors() {
    let counts = monitors_are_right(N_INPUTS as u64);
    assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
}

#[test]
#[ignore = "200,000 inputs: run in release by .ci/run"]
fn dap_framing() {
    let mut random = Rng::with_seed(10);
    for _ in 0..N_INPUTS {
        let (input, cuts) = (bytes(&mut random, 60), bytes(&mut random, 8));
        dap_framing_one(&input, &cuts);
    }
}

#[test]
#[ignore = "50,000 inputs, twelve replies each: run in release by .ci/run"]
fn embedded_reads() {
    let mut random = Rng::with_seed(11);
    for _ in 0..N_INPUTS / 4 {
        embedded_reads_one(&bytes(&mut random, 20), random.u8(..));
    }
}

#[test]
#[ignore = "25,000 programs: run in release by .ci/run"]
fn no_secret_is_shown() {
    secrets_stay_secret(N_PROGRAMS);
}

#[test]
#[ignore = "25,000 programs: run in release by .ci/run"]
fn no_request_is_beyond_its_bound() {
    requests_are_bounded(N_PROGRAMS);
}

#[test]
#[ignore = "27,000 measurements: run in release by .ci/run"]
fn what_can_be_seen_stands_in_the_guide() {
    what_can_be_seen();
}

#[test]
#[ignore = "300 comparisons of 72 runs: run in release by .ci/run"]
fn there_are_few_false_alarms() {
    a_model_is_not_told_to_differ_from_itself(300);
}
