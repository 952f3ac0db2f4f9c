"""Phoenix is started, is sent a session while it runs and once more from its journal, and is asked what it shows of it:
`shown.py PLAYHOUSE EXAMPLES PHOENIX`."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import otel
from otel import EXAMPLES, ORDER, ORDER_REPLIES, ORDER_SAID, check, closed_port, exported, playhouse, script

PHOENIX = sys.argv[3]


class Phoenix:
    """One of its own: its data is in this folder, and it tells nobody."""

    def __init__(self):
        port = closed_port()
        self.url = f"http://127.0.0.1:{port}"
        environment = os.environ | {
            "PHOENIX_WORKING_DIR": str(Path("phoenix").resolve()), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(closed_port()), "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        self.log = open("phoenix.log", "w")
        self.process = subprocess.Popen([PHOENIX, "serve"], env=environment, stdout=self.log, stderr=self.log)

    def wait(self):
        for _ in range(180):
            try:
                return urllib.request.urlopen(f"{self.url}/healthz").read()
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    break
                time.sleep(1)
        sys.exit(f"Phoenix does not come up:\n{Path('phoenix.log').read_text()}")

    def post(self, body):
        headers = {"content-type": "application/x-protobuf"}
        request = urllib.request.Request(f"{self.url}/v1/traces", body, headers)
        return urllib.request.urlopen(request).status

    def get(self, path):
        return json.loads(urllib.request.urlopen(f"{self.url}/v1/projects/default/{path}").read())["data"]

    def spans(self, n_wanted):
        """What it shows, as soon as it has that many: it stores after it has answered."""
        for _ in range(60):
            try:
                spans = self.get("spans?limit=1000")
            except urllib.error.HTTPError:
                spans = []
            if len(spans) >= n_wanted:
                return spans
            time.sleep(0.5)
        return spans


def shown(phoenix):
    journal = Path("order.sqlite").resolve()
    done = playhouse(
        "run", *ORDER, *script("order.jsonl", ORDER_REPLIES), "--session", "ann", "--journal", journal,
        "--otlp", phoenix.url, "--summary", folder=EXAMPLES, says="It's #4334\n",
    )
    check("the example runs", (done.returncode, done.stdout), (0, ORDER_SAID))
    summary = json.loads(done.stderr.strip().splitlines()[-1])
    sent = otel.decoded(exported("ann", journal))

    spans = phoenix.spans(len(sent))
    check("all spans are there", sorted(span["context"]["span_id"] for span in spans), sorted(span.id for span in sent))
    wanted = {"LLM": 3, "TOOL": 1, "AGENT": 2, "CHAIN": len(sent) - 6}
    check("their kinds", Counter(span["span_kind"] for span in spans), wanted)
    shown_tree = {span["context"]["span_id"]: (span["context"]["trace_id"], span["parent_id"] or "") for span in spans}
    check("the trees", shown_tree, {span.id: (span.trace, span.parent) for span in sent})
    for span in spans:
        told = span["attributes"]
        if span["span_kind"] == "LLM":
            tokens = [told.get(f"llm.token_count.{of}") for of in ("prompt", "completion", "prompt_details.cache_read")]
            check(f"{span['name']}: its tokens", all(type(n) is int for n in tokens) and tokens[0] > 0 and tokens[1] > 0)
            check(f"{span['name']}: its model", span["name"], f"chat {told['llm.model_name']}")
            check(f"{span['name']}: who serves it", told["llm.system"], "script")
        if span["span_kind"] == "TOOL":
            check("the tool", told["tool.name"], "GetOrderStatus")

    (session,) = phoenix.get("sessions")
    check("one session", session["session_id"], "ann")
    traces = {trace["trace_id"] for trace in session["traces"]}
    check("both traces are of it", (len(traces), traces), (2, {span.trace for span in sent}))
    tokens = [session[f"token_count_{of}"] for of in ("prompt", "completion")]
    check("its tokens", tokens, [summary["prompt_tokens"], summary["completion_tokens"]])

    before = sorted(json.dumps(span, sort_keys=True) for span in spans)
    check("it takes what is exported", phoenix.post(exported("ann", journal)), 200)
    # Phoenix stores in the order in which things come: when this one is there, the one before it is, too.
    said = playhouse(
        "run", *ORDER, *script("order.jsonl", ORDER_REPLIES), "--session", "bob", "--journal", Path("bob.sqlite").resolve(),
        folder=EXAMPLES, says="It's #4334\n",
    )
    check("another session runs", said.returncode, 0)
    with_messages = exported("bob", Path("bob.sqlite").resolve(), "--with-messages")
    check("and is sent with what was said", phoenix.post(with_messages), 200)
    spans = phoenix.spans(len(sent) + len(otel.decoded(with_messages)))
    of_ann = [span for span in spans if span["context"]["trace_id"] in traces]
    check("what comes twice is there once", sorted(json.dumps(span, sort_keys=True) for span in of_ann), before)
    check("two sessions", sorted(one["session_id"] for one in phoenix.get("sessions")), ["ann", "bob"])
    of_bob = [span for span in spans if span["context"]["trace_id"] not in traces]
    roots = sorted((span for span in of_bob if not span["parent_id"]), key=lambda span: span["start_time"])
    said = [(span["attributes"].get("input.value"), span["attributes"].get("output.value")) for span in roots]
    welcome, state = ORDER_SAID.strip().rsplit("\n", 1)
    check("what was said", said, [(None, welcome), ("It's #4334", state)])
    models = [span["attributes"] for span in of_bob if span["span_kind"] == "LLM"]
    check("what the models were asked", [told.get("llm.input_messages.0.message.role") for told in models], ["system"] * 3)


def main():
    phoenix = Phoenix()
    try:
        phoenix.wait()
        shown(phoenix)
    finally:
        phoenix.process.terminate()
        phoenix.process.wait()
    print(f"{otel.passed} passed, {otel.failed} failed")
    sys.exit(otel.failed > 0)


if __name__ == "__main__":
    main()
