"""What `playhouse run --otlp` sends and `sessions export --format otlp` writes, decoded by PyPI's `opentelemetry-proto`; what an
MCP server and a web server are told of their caller's span: `otel.py PLAYHOUSE EXAMPLES`."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

from collector import Collector, decoded

PLAYHOUSE, EXAMPLES = sys.argv[1], Path(sys.argv[2])
PARENT_TRACE, PARENT_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

# Of the examples: the number is asked for, and told.
ORDER = ["order-status.md", "--tools", "order-status.tools.json"]
ORDER_REPLIES = [
    [{"at": "02", "say": "What is the number of your order?"}, {"at": "02", "wait": "user"}],
    [{"at": "02", "set": {"order_id": "4334"}}, {"at": "03"}],
]
ORDER_SAID = (
    "Welcome to the order desk.\nWhat is the number of your order?\nOrder 4334 is shipped and should be with you on Thursday.\n"
)

# All that a secret can come from: an argument, the environment of a server, a header of the collector.
SECRETS = {"PIN": "hush-4711", "SERVER_KEY": "key-of-the-operator", "OTEL_TOKEN": "Bearer of-the-collector"}
PROGRAM = """---
mcp:
  traced: {command: ["@PYTHON@", "traced_mcp.py"], env: {KEY: {from_env: SERVER_KEY}}}
resources:
  - {type: http, config: {hosts: ["127.0.0.1:*"], networks: ["127.0.0.0/8"]}}
variables:
  - {name: pin, type: str, secret: true}
---

# Desk

## Main

### Triggers

- At the beginning

### Steps

- $parent = traced.parent()
- $key = traced.leak()
- $posted = HttpPost("@URL@/other", {"pin": $pin})
- Say "{$parent}"
- Tell the user what you know
- Later($pin)

## Later($pin)

### Steps

- Say "Bye."
"""
PROGRAM_REPLIES = [[{"at": "05", "say": "{$key.result} And {$pin}."}, {"at": "05"}]]

passed = failed = 0


def check(name, found, expected=True):
    global passed, failed
    if found == expected:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {found!r}, not {expected!r}")


def script(name, replies):
    lines = [json.dumps({"reply": "".join(json.dumps(line) + "\n" for line in lines), "must": True}) for lines in replies]
    Path(name).write_text("\n".join(lines) + "\n")
    return ["--model", f"script:{Path(name).resolve()}"]


def playhouse(*arguments, folder=".", says="", **environment):
    kept = {name: os.environ[name] for name in ["PATH", "XDG_STATE_HOME"]}
    started = time.monotonic()
    done = subprocess.run(
        [PLAYHOUSE, *map(str, arguments)], cwd=folder, env=kept | environment, input=says, capture_output=True, text=True,
        timeout=120,
    )
    done.seconds = time.monotonic() - started
    return done


def exported(session, journal, *options):
    out = Path(f"{session}.otlp")
    done = playhouse("sessions", "export", session, "--journal", journal, "--format", "otlp", "--output", out, *options)
    check(f"{session} is exported", (done.returncode, done.stderr), (0, f"wrote {out}\n"))
    body = out.read_bytes()
    out.unlink()
    return body


def post(collector, body):
    headers = {"content-type": "application/x-protobuf"}
    urllib.request.urlopen(urllib.request.Request(f"{collector.url}/v1/traces", body, headers)).read()


def check_trees(name, spans):
    """Each trace is one tree, and each span has what its kind has."""
    by_id = {span.id: span for span in spans}
    check(f"{name}: no id twice", len(by_id), len(spans))
    for span in spans:
        what, _, rest = span.name.partition(" ")
        label = f"{name}: {span.name}"
        told = span.attributes
        # Others work meanwhile: a model, an MCP server.
        is_client = what == "chat" or "mcp.method.name" in told
        check(f"{label}: its kind", span.kind, "client" if is_client else "internal")
        check(f"{label}: its ids", (len(span.trace), len(span.id), span.flags), (32, 16, 1))
        check(f"{label}: its time", 0 < span.start <= span.end)
        parent = by_id.get(span.parent)
        wanted = {
            "invoke_workflow": {None}, "invoke_agent": {"invoke_workflow", "line"}, "playbook": {"invoke_agent", "line"},
            "line": {"playbook"}, "chat": {"playbook"}, "execute_tool": {"line"},
        }[what]
        check(f"{label}: its parent", (parent and parent.name.split(" ")[0]) in wanted)
        if parent:
            check(f"{label}: is in its parent's trace and time", span.trace == parent.trace and parent.start <= span.start)
        wanted = {
            "invoke_workflow": {"gen_ai.operation.name": "invoke_workflow", "openinference.span.kind": "CHAIN",
                                "gen_ai.workflow.name": rest},
            "invoke_agent": {"gen_ai.operation.name": "invoke_agent", "openinference.span.kind": "AGENT",
                             "gen_ai.agent.name": rest},
            "playbook": {"openinference.span.kind": "CHAIN"},
            "line": {"openinference.span.kind": "CHAIN", "playhouse.line": rest},
            "chat": {"gen_ai.operation.name": "chat", "openinference.span.kind": "LLM", "gen_ai.provider.name": "script",
                     "gen_ai.request.model": rest},
            "execute_tool": {"gen_ai.operation.name": "execute_tool", "openinference.span.kind": "TOOL",
                             "gen_ai.tool.name": rest},
        }[what]
        check(f"{label}: its attributes", {key: told.get(key) for key in wanted}, wanted)
        if what == "invoke_workflow":
            check(f"{label}: its session", told["gen_ai.conversation.id"], told["session.id"])
        if what == "line":
            check(f"{label}: its words", bool(told["playhouse.text"]) and told["playhouse.by"] in ("interpreter", "model"))
        if what == "chat":
            tokens = [told[f"gen_ai.usage.{of}"] for of in ("input_tokens", "output_tokens", "cache_read.input_tokens")]
            check(f"{label}: its tokens", all(type(n) is int for n in tokens) and tokens[0] > 0 and tokens[1] > 0)
            check(f"{label}: its first bytes", type(told["gen_ai.response.time_to_first_chunk"]), float)
        if what == "execute_tool":
            check(f"{label}: its call", bool(told["gen_ai.tool.call.id"]))


def tokens(spans):
    """What a model was asked and has answered is counted alike."""
    names = ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"]
    return [sum(span.attributes.get(name, 0) for span in spans) for name in names]


def example():
    collector = Collector()
    model = script("order.jsonl", ORDER_REPLIES)
    journal = Path("order.sqlite").resolve()
    to_journal = ["--session", "ann", "--journal", journal]
    done = playhouse(
        "run", *ORDER, *model, *to_journal, "--otlp", collector.url, "--summary", folder=EXAMPLES, says="It's #4334\n",
        OTEL_SERVICE_NAME="desk",
    )
    check("the example runs", (done.returncode, done.stdout), (0, ORDER_SAID))
    path, headers, *_ = collector.requests[0]
    check("the request", (path, headers["content-type"]), ("/v1/traces", "application/x-protobuf"))
    live = collector.spans()
    check_trees("live", live)
    check("its service", {span.resource["service.name"] for span in live}, {"desk"})
    names = Counter(span.name.replace(str(Path.cwd().resolve()), "…") for span in live)
    wanted = {"invoke_workflow order-status.md": 2, "invoke_agent OrderDesk": 2, "playbook OrderStatus": 2,
              "chat …/order.jsonl": 2, "execute_tool GetOrderStatus": 1, "line OrderStatus:02": 2, "line OrderStatus:06": 1}
    check("its spans", {name: n for name, n in names.items() if name in wanted}, wanted)
    first, second = sorted((span for span in live if not span.parent), key=lambda span: span.start)
    check("two traces", first.trace != second.trace)
    check("the second is linked to the first", (first.links, second.links), ([], [(first.trace, first.id)]))
    check("they have the session's id", {span.attributes["session.id"] for span in (first, second)}, {"ann"})
    finish = [span.attributes.get("gen_ai.response.finish_reasons") for span in live if span.name.startswith("chat ")]
    check("why the model stopped", set(map(str, finish)) <= {"['stop']", "None"} and ["stop"] in finish)
    summary = json.loads(done.stderr.strip().splitlines()[-1])
    check("tokens are those of the summary", tokens(live), [summary["prompt_tokens"], summary["completion_tokens"]])
    check("what was said is not told", [word for word in (b"4334", b"shipped", b"Thursday") if word in b"".join(collector.bodies())], [])

    body = exported("ann", journal)
    check("exported twice is the same", exported("ann", journal), body)
    later = decoded(body)
    check("exported is what was sent", sorted(span.bytes for span in later), sorted(span.bytes for span in live))
    post(collector, body)
    all_of_them = {(span.trace, span.id, span.parent): span.bytes for span in collector.spans()}
    check("sent twice is once", (len(collector.spans()), len(all_of_them)), (2 * len(live), len(live)))


def out_and_in():
    """Who started us, whom we call, and no secret."""
    collector = Collector()
    Path("desk.md").write_text(PROGRAM.replace("@URL@", collector.url).replace("@PYTHON@", sys.executable))
    Path("playhouse.toml").write_text(
        f'[otel]\nendpoint = "{collector.url}/base"\ncapture = "messages"\nservice_name = "shop"\n'
        'headers = { authorization = { from_env = "OTEL_TOKEN" } }\n'
    )
    journal = Path("desk.jsonl").resolve()
    done = playhouse(
        "run", "desk.md", *script("desk-replies.jsonl", PROGRAM_REPLIES), "--arg", f"pin={SECRETS['PIN']}",
        "--session", "bob", "--journal", journal, TRACEPARENT=f"00-{PARENT_TRACE}-{PARENT_SPAN}-01", **SECRETS,
    )
    check("the program runs", done.returncode, 0)
    if done.returncode:
        return print(done.stdout, done.stderr)
    spans = collector.spans()
    path, headers, *_ = collector.requests[0]
    check("where it is sent", path, "/base/v1/traces")
    check("its header", headers["authorization"], SECRETS["OTEL_TOKEN"])
    check("its service", {span.resource["service.name"] for span in spans}, {"shop"})
    check("all is in the trace of who started us", {span.trace for span in spans}, {PARENT_TRACE})
    (root,) = [span for span in spans if span.name.startswith("invoke_workflow")]
    check("below their span", root.parent, PARENT_SPAN)
    root.parent = ""
    check_trees("out", spans)

    by_name = {span.name: span for span in spans}
    of_mcp = by_name["execute_tool traced.parent"]
    told = json.loads(done.stdout.splitlines()[0])
    check("an MCP server is told its caller's span", told["result"], f"00-{PARENT_TRACE}-{of_mcp.id}-01")
    check("as the convention calls it", of_mcp.attributes["mcp.method.name"], "tools/call")
    (headers, posted), = collector.others
    of_http = by_name["execute_tool HttpPost"]
    check("so is a web server", headers["traceparent"], f"00-{PARENT_TRACE}-{of_http.id}-01")
    check("which is sent the secret", json.loads(posted), {"pin": SECRETS["PIN"]})

    body = b"".join(collector.bodies())
    (chat,) = [span for span in spans if span.name.startswith("chat ")]
    asked, replied = (json.loads(chat.attributes[f"gen_ai.{of}.messages"]) for of in ("input", "output"))
    check("what the model was asked is told", [message["role"] for message in asked][0], "system")
    check("and what it answered", "{$key.result} And {$pin}." in replied[0]["parts"][0]["content"])
    check("what was said", root.attributes["output.value"].splitlines()[1:], ["The key is ***. And ***.", "Bye."])
    check("results are told", "***" in by_name["execute_tool traced.leak"].attributes["gen_ai.tool.call.result"])
    later = exported("bob", journal, "--with-messages")
    plain = exported("bob", journal)
    for name, secret in SECRETS.items():
        for where, bytes in [("sent", body), ("exported", plain)]:
            check(f"{name} is not in what is {where}", secret.encode() in bytes, False)
    # What the environment holds is known only while it is there; what was declared is never in the journal.
    check("PIN is not in what is exported with messages", SECRETS["PIN"].encode() in later, False)
    check("nor the server's key", SECRETS["SERVER_KEY"].encode() in later, False)
    for what, told in [("with messages", later), ("without", plain)]:
        ids = lambda spans: sorted((span.name, span.trace, span.id, span.start, span.end) for span in spans)
        check(f"exported {what} has the ids that were sent", ids(decoded(told)), ids(spans))


def closed_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def troubles():
    """A run is what it is, whatever becomes of the collector."""
    model = script("order.jsonl", ORDER_REPLIES)
    run = lambda name, url, **more: playhouse(
        "run", *ORDER, *model, "--journal", Path(f"{name}.jsonl").resolve(), "--session", name, "--otlp", url,
        folder=EXAMPLES, says="It's #4334\n", **more,
    )
    n_spans = None
    for name, collector, n_seconds, is_told in [
        ("busy", Collector([503, 429]), 8, None),
        ("refusing", Collector([400] * 9), 3, "400"),
        ("sleeping", Collector(sleeps=True), 8, "no answer within 5 s"),
        ("dead", None, 8, "Connection refused"),
    ]:
        done = run(name, collector.url if collector else f"http://127.0.0.1:{closed_port()}")
        check(f"{name}: the run is as ever", (done.returncode, done.stdout), (0, ORDER_SAID))
        check(f"{name}: its end comes soon", done.seconds < n_seconds)
        lost = re.findall(r"^warning: traces: .*$", done.stderr, re.MULTILINE)
        check(f"{name}: losses are told once", len(lost), 1 if is_told else 0)
        if is_told:
            check(f"{name}: and why: {lost}", bool(lost) and is_told in lost[0] and "of" in lost[0])
        if name == "busy":
            spans = collector.spans()
            n_spans = len(spans)
            check_trees(name, spans)
            check("busy: what was sent again is the same", len({body for *_, body, _ in collector.requests}), 1)
        else:
            check(f"{name}: all are counted", f"{n_spans} of {n_spans} spans" in "".join(lost))
        # What a collector has missed can be sent again.
        check(f"{name}: it is all there later", len(decoded(exported(name, f"{name}.jsonl"))), n_spans)
    for name, url, more, told in [
        ("grpc", "http://127.0.0.1:4317", {}, "use 4318"),
        ("nonsense", "127.0.0.1:4318", {}, "--otlp"),
    ]:
        done = run(name, url, **more)
        check(f"{name}: exit code", done.returncode, 2)
        check(f"{name}: it is told", told in done.stderr)
    collector = Collector()
    done = run("disabled", collector.url, OTEL_SDK_DISABLED="true")
    check("disabled: nothing is sent", (done.returncode, collector.requests), (0, []))
    check("disabled: it is told", "OTEL_SDK_DISABLED" in done.stderr)


def main():
    example()
    out_and_in()
    troubles()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
