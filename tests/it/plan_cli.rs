//! Plans on the command line, through the real binary: explained, generated, checked, run.

use crate::golden;
use crate::run::{Done, Run};

const TOOLS: &str = r#"{
  "GetOrder": {"description": "looks an order up", "args": ["id"], "responses": [{"return": {"state": "shipped", "by": "train"}}]},
  "Refund": {"args": ["id"], "responses": [{"return": "refunded"}, {"error": "the bank is closed"}]},
  "flights": {"args": ["destination"], "responses": [{"return": [{"number": "UA1", "departs": "2026-12-02T16:00:00-0800"}]}]}
}"#;

const ORDER: &str = r#"[
  {"seq_no": 0, "type": "calling", "parameters": {"tool": "GetOrder", "params": {"id": "${order_id}"}, "output_vars": ["state"]}},
  {"seq_no": 1, "type": "jmp", "parameters": {"condition_prompt": "Is it lost?", "context": "${state}", "jump_if_true": 2, "jump_if_false": 3}},
  {"seq_no": 2, "type": "calling", "parameters": {"tool": "Refund", "params": {"id": "${order_id}"}}},
  {"seq_no": 3, "type": "assign", "parameters": {"final_answer": "Order ${order_id}: ${state}"}}
]
"#;

const TRIP: &str = "city:\noutbound:\n  flights:\n    destination: ${city}\n\
                    result: Leave at ${outbound.departs.minus(2, hours)} for ${outbound.number}.\n";

const NO: &str = "{\"reply\": \"{\\\"result\\\": false, \\\"explanation\\\": \\\"no\\\"}\"}\n";

fn world() -> Run {
    Run::new().tools(TOOLS).file("order.jmp.json", ORDER).file("trip.yaml", TRIP).script(NO)
}

/// A script of these replies, in order.
fn replies(replies: &[&str]) -> String {
    let line = |reply: &&str| format!("{}\n", serde_json::json!({ "reply": reply }));
    replies.iter().map(line).collect()
}

const RUN: &str = "run order.jmp.json --tools tools.json --model script:script.jsonl";

#[test]
fn a_plan_gives_its_value_to_standard_output() {
    let done = world().line(RUN).line("--arg order_id=7").stdout("Order 7: shipped\n").code(0);
    // What is no text is JSON on one line.
    let list = "[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {\"final_answer\": [1, {\"a\": null}]}}]";
    done.then().file("list.jmp.json", list).line("run list.jmp.json").stdout("[1,{\"a\":null}]\n").code(0);
    let trip = "run trip.yaml --tools tools.json --arg city=Rome";
    done.then().line(trip).stdout("Leave at 2026-12-02T14:00:00-0800 for UA1.\n").code(0);
    // A program that calls plans says what it says, and nothing else.
    let program = "---\nimport: [order.jmp.json]\n---\n# Desk\n\n## Main\n\n### Steps\n\n- $text = order(7)\n- Say \"{$text}!\"\n";
    let run = "run program.md --tools tools.json --model script:script.jsonl";
    let done = done.then().program(program).line(run).stdout("Order 7: shipped!\n").code(0);
    done.then().line(run).line("--playbook order --arg order_id=8").stdout("Order 8: shipped\n").code(0);
}

#[test]
fn a_plan_that_cannot_be_run_says_why() {
    let done = world().line(RUN).stdout("").code(1);
    let done = done.stderr_contains(
        "error[plan]: order.jmp.json:2: order, instruction 0 (calling, `id`): the variable `order_id` is not set; \
         nothing is set; set it with --arg order_id=value\n",
    );
    let done = done.then().line("run trip.yaml --tools tools.json").stdout("").code(2);
    let done = done.stderr_contains("error: plan trip needs city; give each with --arg name=value\n");
    let done = done.then().line("run trip.yaml --tools tools.json --arg town=Rome").code(2);
    let done = done.stderr_contains("--arg town: trip has no such parameter; it has: city");
    // Nothing runs that check refuses.
    let done = done.then().line("run order.jmp.json").stdout("").code(2);
    let done = done.stderr_contains(
        "error[plan-unknown-callee]: there is no tool, playbook or plan `GetOrder`\n --> order.jmp.json:2:59",
    );
    // The embedded model says itself that it judges nothing.
    let done = done.then().line("run order.jmp.json --tools tools.json --model embedded --arg order_id=7").code(1);
    done.stderr_contains("the embedded model only follows playbooks; plans and");
}

#[test]
fn plans_are_explained() {
    let done = world().line("plan explain order.jmp.json trip.yaml --tools tools.json").code(0);
    golden::compare("plans/cli/explain.golden", &done.stdout);
    let done = done.then().line("plan explain order.jmp.json trip.yaml --format mermaid").code(0);
    golden::compare("plans/cli/mermaid.golden", &done.stdout);
    let done = done.then().line("plan explain order.jmp.json trip.yaml --format json").code(0);
    golden::compare("plans/cli/json.golden", &done.stdout);
    let wires: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&wires[0]["parameters"][0], &wires[0]["calls"][0]["kind"]), (&"order_id".into(), &"unknown".into()));
    assert_eq!((&wires[1]["language"], &wires[1]["steps"][0]["then"][0]), (&"dataflow".into(), &"outbound".into()));

    // Through a program; who is called is known there.
    let program = "---\nimport: [caller.jmp.json, order.jmp.json]\n---\n# Desk\n\n## Main\n\n### Steps\n\n- $x = caller()\n\n\
                   ## Confirm\n\n### Steps\n\n- Return true\n";
    let caller = r#"[
      {"seq_no": 0, "type": "calling", "parameters": {"tool": "Confirm"}},
      {"seq_no": 1, "type": "calling", "parameters": {"tool": "order", "params": {"order_id": 1}}},
      {"seq_no": 2, "type": "calling", "parameters": {"tool": "llm_generate", "params": {"prompt": "?"}}},
      {"seq_no": 3, "type": "calling", "parameters": {"tool": "vector_search", "params": {"query": "?"}, "output_vars": "final_answer"}}
    ]"#;
    let done = done.then().program(program).file("caller.jmp.json", caller).line("plan explain program.md").code(0);
    for line in
        ["Confirm: a playbook\n", "order: a plan\n", "llm_generate: the model\n", "vector_search: searches documents"]
    {
        assert!(done.stdout.contains(&format!("    {line}")), "{line}: {}", done.stdout);
    }
    let done = done.then().program("# Desk\n\n## Main\n\n### Steps\n\n- Say \"Hi.\"\n");
    let done = done.line("plan explain program.md").stdout("").code(2).stderr_contains("program.md: there is no plan");
    // What cannot be read is told with its place.
    let done = done.then().file("bad.yaml", "result: ${sum}\n").line("plan explain bad.yaml").code(2);
    done.stderr_contains("error[unknown-name]").stderr_contains(" --> bad.yaml:1:11");
}

#[test]
fn plans_are_checked() {
    let done = world().line("check order.jmp.json trip.yaml --tools tools.json").stdout("").code(0);
    let done = done.stderr_contains("0 errors, 0 warnings\n");
    let done = done.then().line("check --explain trip.yaml --tools tools.json").code(0);
    let done = done.stdout_contains("\nplan trip (dataflow), needs city\n  1. outbound: calls flights; uses city\n");
    let done = done.then().line("check trip.yaml --format json").code(2);
    let found: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&found[0]["code"], &found[0]["line"], &found[0]["column"]),
        (&"unknown-domain".into(), &3.into(), &3.into())
    );
}

const GOOD: &str = "Here it is:\n\n```json\n[{\"seq_no\": 0, \"type\": \"calling\", \"parameters\": {\"tool\": \"GetOrder\", \"params\": \
                    {\"id\": \"4334\"}, \"output_vars\": [\"state\"]}},\n {\"seq_no\": 1, \"type\": \"assign\", \"parameters\": \
                    {\"final_answer\": \"It is ${state}.\"}}]\n```\nI hope [this] helps.";

/// The plan in it alone.
fn good() -> String {
    format!("{}\n", GOOD.split("```json\n").nth(1).unwrap().split("\n```").next().unwrap())
}

fn bad() -> String {
    GOOD.replace("\"GetOrder\"", "\"GetOdrer\"").replace("${state}", "${weather}")
}

fn generate(replies_of: &[&str], options: &str) -> Run {
    let goal =
        ["plan", "generate", "Tell where order 4334 is", "--tools", "tools.json", "--model", "script:script.jsonl"];
    world().script(&replies(replies_of)).args(goal).line(options)
}

#[test]
fn a_generated_plan_is_checked_and_mended() {
    let done = generate(&[&bad(), GOOD], "").stdout(&good()).code(0);
    let done = done.stderr_contains("reply 1 of at most 3 cannot be used: it has 2 errors; the model is asked again\n");
    assert!(!done.stderr.contains("never used"), "{}", done.stderr);
    // What was wrong is what the model is told.
    let told = r#"{"reply": "no"}
{"when": "(?s)cannot be used:.*there is no tool, playbook or plan `GetOdrer`.*call `GetOrder`.*nothing sets `weather`.*as one JSON array", "must": true, "reply": REPLY}
"#;
    let told = told.replace("\"no\"", &serde_json::json!(bad()).to_string());
    let told = told.replace("REPLY", &serde_json::json!(GOOD).to_string());
    generate(&[], "").script(&told).stdout(&good()).code(0);
}

#[test]
fn a_generated_plan_is_written_never_over_another_one() {
    let done = generate(&[GOOD], "--out new.json").stdout("").code(0);
    let done = done.stderr_contains("new.json written (jmp); run it with: playhouse run new.json --tools tools.json\n");
    assert_eq!(done.read("new.json"), good());
    done.then().line("run new.json --tools tools.json").stdout("It is shipped.\n").code(0);
    // Nothing is asked when it could not be written.
    for (out, message) in [
        ("new.json", "--out new.json: the file already exists; choose another name, or add --force"),
        ("new.txt", "--out new.txt: a plan's file is named `.jmp.json`, `.branch.json`, `.json` or `.yaml`"),
        ("new.yaml --dialect jmp", "--out new.yaml: a jmp plan needs another name, which ends in `.jmp.json`"),
        ("no/new.json", "--out no/new.json: there is no folder no"),
    ] {
        let done = generate(&[], "").file("new.json", "mine").line(&format!("--out {out}")).stdout("").code(2);
        assert_eq!(done.stderr, format!("error: {message}\n"));
        assert_eq!(done.read("new.json"), "mine");
    }
    let done = generate(&[GOOD], "").file("new.json", "mine").line("--out new.json --force").code(0);
    assert_eq!(done.read("new.json"), good());
}

#[test]
fn without_a_usable_plan_nothing_is_written() {
    let done = generate(&[&bad(), &bad(), "I cannot."], "--out new.json").stdout("").code(1);
    assert!(!done.path("new.json").exists());
    assert_eq!(done.stderr.matches("the model is asked again").count(), 2, "{}", done.stderr);
    let done = done.stderr_contains("the last reply:\nI cannot.\n");
    let done =
        done.stderr_contains("error: there is no plan: the model was asked 3 times, and no reply could be used;");
    done.stderr_contains(" --> new.json:1:1\n");
    let done = generate(&[&bad()], "--attempts 1").stdout("").code(1);
    done.stderr_contains("there is no tool, playbook or plan `GetOdrer`")
        .stderr_contains("the model was asked 1 time,");
    let done = generate(&["  "], "--attempts 1").stdout("").code(1);
    done.stderr_contains("the reply is empty");
    let done = generate(&[], "").stdout("").code(1);
    done.stderr_contains("error: the model could not be asked for a plan: script script.jsonl has no entry");
    let done = world().args(["plan", "generate", "Do it"]).stdout("").code(1);
    done.stderr_contains("error: the model could not be asked for a plan: the embedded model only follows playbooks;");
    world().args(["plan", "generate", " "]).code(2).stderr_contains("error: the goal is empty");
}

#[test]
fn a_generated_plan_is_run() {
    let done = generate(&[&bad(), GOOD], "--run").stdout("It is shipped.\n").code(0);
    // It is shown before it is run.
    let done = done.stderr_contains("plan plan (jmp)\n  0 call GetOrder(id=\"4334\") -> {state}; sets state\n");
    let done = done.then().line("sessions list").code(0).stdout_contains("finished");
    // The model goes on with its own replies, and what is given can be read.
    let with = GOOD.replace("\"4334\"", "\"${order_id}\"").replace("\"It is ${state}.\"", "\"${order_id} ${text}\"").replace(
        "\n {\"seq_no\": 1",
        "\n {\"seq_no\": 1, \"type\": \"calling\", \"parameters\": {\"tool\": \"llm_generate\", \"params\": {\"prompt\": \"Say it\"}, \
         \"output_vars\": \"text\"}},\n {\"seq_no\": 2",
    );
    drop(done);
    generate(&[&with, "nicely"], "--run --arg order_id=9").stdout("9 nicely\n").code(0);
    // Without it, it is a mistake.
    let done = generate(&[&with], "--attempts 1").code(1);
    done.stderr_contains("error[plan-undefined-variable]: nothing sets `order_id`");
    // A plan that fails is a run that fails.
    generate(&[&with], "--run --arg order_id=9").stdout("").code(1).stderr_contains("instruction 1 (calling)");
}

#[test]
fn all_three_languages_are_generated() {
    let yaml = "A plan:\n```yaml\nfound:\n  GetOrder:\n    id: 4334\nresult: It is ${found.state}.\n```\nDone.";
    let done = generate(&[yaml], "--dialect dataflow --run").stdout("It is shipped.\n").code(0);
    drop(done);
    let plan = "found:\n  GetOrder:\n    id: 4334\nresult: It is ${found.state}.\n";
    assert_eq!(generate(&[yaml], "--out new.yaml").code(0).read("new.yaml"), plan);
    let branch = "[{\"seq_no\": 0, \"type\": \"llm_generate\", \"parameters\": {\"prompt\": \"Say hi\", \"output_var\": \"result\"}}]\n";
    let done = generate(&[branch, "hi"], "--dialect branch --run").stdout("hi\n").code(0);
    done.stderr_contains("warning: a plan with branches calls no tools but the model and retrieval");
    // A retrieval that would fail is not offered.
    let retrieval = branch.replace("llm_generate", "retrieve_knowledge_graph").replace("prompt", "query");
    generate(&[&retrieval], "--dialect branch --attempts 1").code(1).stderr_contains("retrieve_knowledge_graph");
    // Text that says nothing of its dialect, under a name that says nothing either.
    let assign = "[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {\"var_name\": \"final_answer\", \"value\": 1, \"final_answer\": 2}}]";
    drop(generate(&[assign], "--out new.json").code(0));
    let assign = "[{\"seq_no\": 0, \"type\": \"assign\", \"parameters\": {\"final_answer\": 2}}]";
    let done = generate(&[assign, assign, assign], "--dialect branch --out new.json").code(1);
    assert!(!done.path("new.json").exists());
}

/// The questions that plans put to the model during a run.
fn questions(done: &Done) -> Vec<String> {
    let events = done.read("events.jsonl");
    let events = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let asked = events.filter(|event| event["type"] == "call_queued" && event["kind"] == "model");
    asked.map(|event| event["args"]["prompt"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn questions_of_conditions() {
    let done = world().script(&replies(&["maybe", "{\"result\": false}"]));
    let done = done.line(RUN).line("--arg order_id=7 --events events.jsonl").stdout("Order 7: shipped\n").code(0);
    let asked = questions(&done);
    assert_eq!(asked.len(), 2);
    golden::compare("prompts/condition.jmp.golden", &asked.join("\n=====\n"));
    let branch = r#"[{"seq_no": 0, "type": "condition", "parameters": {"prompt": "Is it late?", "true_branch": [], "false_branch":
        [{"seq_no": 1, "type": "assign", "parameters": {"value": "in time", "var_name": "result"}}]}}]"#;
    let done = done.then().file("late.branch.json", branch).script(&replies(&["It is not true.", "FALSE."]));
    let done = done.line("run late.branch.json --model script:script.jsonl --events events.jsonl").stdout("in time\n");
    golden::compare("prompts/condition.branch.golden", &questions(&done.code(0)).join("\n=====\n"));
    // Never an answer: the plan fails there, and takes no branch.
    let done = world().script(&replies(&["no", "no", "no"])).line(RUN).line("--arg order_id=7").stdout("").code(1);
    done.stderr_contains("error[plan]: order.jmp.json:3: order, instruction 1 (jmp)");
}

/// Refunds twice: the second fails.
const TWICE: &str = r#"[
  {"seq_no": 0, "type": "calling", "parameters": {"tool": "Refund", "params": {"id": 1}, "output_vars": "first"}},
  {"seq_no": 1, "type": "calling", "parameters": {"tool": "Refund", "params": {"id": 2}, "output_vars": "second"}},
  {"seq_no": 2, "type": "assign", "parameters": {"final_answer": "${first} and ${second}"}}
]
"#;

#[test]
fn another_plan_is_written_for_one_that_failed() {
    let run = "run twice.jmp.json --tools tools.json --model script:script.jsonl --events events.jsonl";
    let start = |script: &[&str]| world().file("twice.jmp.json", TWICE).script(&replies(script)).line(run);
    let done = start(&[]).stdout("").code(1);
    done.stderr_contains(
        "error[plan]: twice.jmp.json:3: twice, instruction 1 (calling): Refund failed: the bank is closed",
    );
    let other = r#"[{"seq_no": 0, "type": "assign", "parameters": {"final_answer": "${first}, the other one not"}}]"#;
    let wrong = r#"[{"seq_no": 0, "type": "assign", "parameters": {"answer": "${first}"}}]"#;
    let done = start(&[wrong, other]).line("--max-replans 1").stdout("refunded, the other one not\n").code(0);
    golden::compare("prompts/plan-adjust.restart.golden", &questions(&done).join("\n=====\n"));

    let config = "[limits]\nmax_replans = 1\nreplan = \"resume\"\n";
    let resumed = TWICE.replace(
        r#""type": "calling", "parameters": {"tool": "Refund", "params": {"id": 2}, "output_vars": "second"}"#,
        r#""type": "assign", "parameters": {"second": "nothing"}"#,
    );
    let done = start(&[&resumed]).file("playhouse.toml", config).stdout("refunded and nothing\n").code(0);
    golden::compare("prompts/plan-adjust.resume.golden", &questions(&done).join("\n=====\n"));
    // It ends: the new plan fails, too.
    let done = start(&[TWICE]).line("--max-replans 1").code(1);
    done.stderr_contains("the bank is closed");
}

/// A playbook that a plan calls waits for the user: the session is kept, and goes on behind the call.
#[test]
fn a_session_goes_on_inside_a_playbook_that_a_plan_called() {
    let program = "---\nimport: [ask.jmp.json]\n---\n# Desk\n\n## Main\n\n### Triggers\n\n- At the beginning\n\n### Steps\n\n\
                   - $text = ask(7)\n- Say \"{$text}\"\n\n## AskName($order)\n\n### Steps\n\n- Ask the user for $name\n- Return $name\n";
    let plan = r#"[
      {"seq_no": 0, "type": "calling", "parameters": {"tool": "GetOrder", "params": {"id": "${order_id}"}, "output_vars": ["state"]}},
      {"seq_no": 1, "type": "calling", "parameters": {"tool": "AskName", "params": {"order": "${order_id}"}, "output_vars": "name"}},
      {"seq_no": 2, "type": "assign", "parameters": {"final_answer": "${name}: ${state}"}}
    ]"#;
    let script = replies(&[
        "{\"at\":\"01\",\"say\":\"Name?\"}\n{\"at\":\"01\",\"wait\":\"user\"}\n",
        "{\"at\":\"01\",\"set\":{\"name\":\"Ada\"}}\n",
    ]);
    let run = "run program.md --tools tools.json --model script:script.jsonl --session s";
    let done = world().program(program).file("ask.jmp.json", plan).script(&script).line(run).stdout("Name?\n").code(3);
    let done = done.then().line("sessions show s").code(0);
    for part in ["Desk.ask, line 1 (call at Main:01, result to $text)", "Desk.AskName, line 01", "$state = \"shipped\""]
    {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
    let done = done.then().line(run).stdin("Ada\n").stdout("Ada: shipped\n").code(0);
    // Again, there is nothing to do.
    done.then().line(run).stdout("").code(0);
}

/// A plan's session is kept like any other, and told again without its tools.
#[test]
fn a_kept_plan_is_shown_and_told_again() {
    let done = world().line(RUN).line("--arg order_id=7 --session s --summary").stdout("Order 7: shipped\n").code(0);
    let summary: serde_json::Value = serde_json::from_str(done.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&summary["tool_calls"], &summary["model_questions"], &summary["turns"]),
        (&1.into(), &1.into(), &0.into())
    );
    assert_eq!(summary["outcome"], "finished");
    let done = done.then().line("sessions show s").code(0).stdout_contains("finished");
    let again = "run order.jmp.json --session s --tools tools.json --model script:script.jsonl";
    done.then().line(again).stdout("Order 7: shipped\n").code(0);
}

#[test]
fn events_of_plans() {
    let done = world().line(RUN).line("--arg order_id=7 --events events.jsonl").code(0);
    let events = done.read("events.jsonl");
    let events: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| events.iter().filter(|event| event["type"] == name).collect::<Vec<_>>();
    let labels: Vec<&str> = of("line_reached").iter().map(|event| event["line"].as_str().unwrap()).collect();
    assert_eq!(labels, ["0", "1", "3"]);
    assert!(of("line_reached").iter().all(|event| event["plan"] == "order"), "{events:?}");
    let set: Vec<&str> = of("variable_set").iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(set, ["state", "final_answer"]);
    assert_eq!(events.last().unwrap()["value"], "Order 7: shipped");
}
