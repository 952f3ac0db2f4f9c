"""OpenAI's client for Python talks to a server: client.py URL. Prints what passed and what failed."""

import http.client
import http.server
import json
import sys
import threading
import traceback
import urllib.request

import openai

URL = sys.argv[1]
APPLES = "Which fruit?\n\nÄpfel are sweet — all of them."
PEARS = "Pears are soft, and there are so many of them that it takes a while to tell."


def client(url=URL, **options):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", **options)


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def get(path):
    with urllib.request.urlopen(f"{URL}{path}") as answer:
        return json.load(answer)


def messages(session):
    steps = get(f"/api/sessions/{session}/steps")["steps"]
    return [step["event"]["text"] for step in steps if step["event"]["type"] == "user_message"]


class Cutting(http.server.BaseHTTPRequestHandler):
    """Passes requests on, and loses the first answer."""

    protocol_version = "HTTP/1.1"
    n_asked = 0
    retries = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        connection = http.client.HTTPConnection(URL.removeprefix("http://"))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        type(self).n_asked += 1
        self.retries.append(self.headers.get("x-stainless-retry-count"))
        if self.n_asked == 1:
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers["content-type"])
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def models():
    listed = client().models.list().data
    assert [model.id for model in listed] == ["desk"], listed
    assert client().models.retrieve("desk").owned_by == "playhouse"


def a_chat_goes_on():
    chat = client().chat.completions
    first = chat.create(model="desk", messages=[user("apples")])
    assert first.choices[0].message.content == APPLES, first
    assert first.choices[0].finish_reason == "stop"
    assert first.usage.total_tokens > 0
    history = [user("apples"), assistant(APPLES), user("pears")]
    second = chat.create(model="desk", messages=history)
    assert second.choices[0].message.content == PEARS, second
    assert second.playhouse["session"] == first.playhouse["session"]
    assert messages(first.playhouse["session"]) == ["apples", "pears"]


def a_chat_is_streamed():
    options = {"include_usage": True}
    stream = client().chat.completions.create(
        model="desk", messages=[user("apples")], stream=True, stream_options=options
    )
    chunks = list(stream)
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == APPLES, said
    assert chunks[-1].usage.total_tokens > 0
    assert [choice.finish_reason for chunk in chunks[-2:] for choice in chunk.choices] == ["stop"]


def the_helper_for_streams_reads_it():
    with client().chat.completions.stream(model="desk", messages=[user("apples")]) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == APPLES


def a_lost_answer_is_told_again():
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    lossy = client(f"http://127.0.0.1:{proxy.server_address[1]}", max_retries=2)
    answer = lossy.chat.completions.create(
        model="desk", messages=[user("apples")], extra_headers={"X-Conversation-Id": "lost"}
    )
    proxy.shutdown()
    assert Cutting.retries == ["0", "1"], Cutting.retries
    assert answer.choices[0].message.content == APPLES
    assert messages(answer.playhouse["session"]) == ["apples"]
    assert len(get("/api/sessions?label.chat=lost")["sessions"]) == 1


def a_client_without_patience_gets_the_same_answer():
    impatient = client(max_retries=20, timeout=0.25)
    answer = impatient.chat.completions.create(
        model="desk", messages=[user("pears")], extra_headers={"X-Conversation-Id": "hasty"}
    )
    assert answer.choices[0].message.content.endswith(PEARS), answer
    assert messages(answer.playhouse["session"]) == ["pears"]
    assert len(get("/api/sessions?label.chat=hasty")["sessions"]) == 1


def faults_have_their_classes():
    def fails(kind, **request):
        try:
            client().chat.completions.create(**{"model": "desk", "messages": [user("apples")], **request})
        except kind as error:
            return error
        raise AssertionError(f"no {kind}")

    error = fails(openai.NotFoundError, model="none")
    assert (error.code, error.param) == ("model_not_found", "model"), error
    error = fails(openai.BadRequestError, n=2)
    assert error.param == "n" and "there is one answer" in error.message, error
    error = fails(openai.BadRequestError, messages=[assistant("Hello")])
    assert error.param == "messages[0]", error


def what_is_ignored_is_named():
    raw = client().chat.completions.with_raw_response.create(
        model="desk", messages=[{"role": "system", "content": "Be rude."}, user("apples")], temperature=0.5, user="ida"
    )
    assert raw.headers["x-playhouse-ignored"] == "temperature, user, messages.system", raw.headers
    assert raw.parse().choices[0].message.content == APPLES


def responses_go_on():
    first = client().responses.create(model="desk", input="apples")
    assert (first.status, first.output_text) == ("completed", APPLES), first
    assert first.usage.total_tokens > 0
    second = client().responses.create(model="desk", input="pears", previous_response_id=first.id)
    assert second.output_text == PEARS, second
    assert second.conversation.id == first.conversation.id
    third = client().responses.create(model="desk", input="apples", conversation=second.conversation.id)
    assert third.output_text == "Äpfel are sweet — all of them.", third
    assert client().responses.retrieve(second.id).output_text == PEARS
    # From the first answer on, another way.
    other = client().responses.create(model="desk", input="apples", previous_response_id=first.id)
    assert other.conversation.id != first.conversation.id


def a_response_is_streamed_and_taken_up():
    events = list(client().responses.create(model="desk", input="apples", stream=True))
    assert [event.type for event in events[:4]] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    ]
    assert events[-1].type == "response.completed" and events[-1].response.output_text == APPLES
    numbers = [event.sequence_number for event in events]
    assert numbers == sorted(set(numbers)), numbers
    identifier = events[0].response.id
    for event in events[:-1]:
        rest = client().responses.retrieve(identifier, stream=True, starting_after=event.sequence_number)
        before = [known for known in events if known.sequence_number <= event.sequence_number]
        speech = [one.delta for one in before + list(rest) if one.type == "response.output_text.delta"]
        assert "".join(speech) == APPLES, (event.sequence_number, speech)


def the_helper_for_responses_reads_it():
    with client().responses.stream(model="desk", input="apples") as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == APPLES


def a_response_in_the_background_is_cancelled():
    response = client().responses.create(model="desk", input="pears", background=True)
    assert response.status == "in_progress", response
    cancelled = client().responses.cancel(response.id)
    assert cancelled.status == "cancelled", cancelled
    assert client().responses.retrieve(response.id).status == "cancelled"


def main():
    passed = failed = 0
    for test in [
        models, a_chat_goes_on, a_chat_is_streamed, the_helper_for_streams_reads_it, a_lost_answer_is_told_again,
        a_client_without_patience_gets_the_same_answer, faults_have_their_classes, what_is_ignored_is_named,
        responses_go_on, a_response_is_streamed_and_taken_up, the_helper_for_responses_reads_it,
        a_response_in_the_background_is_cancelled,
    ]:
        try:
            test()
            passed += 1
            print(f"ok   {test.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {test.__name__}\n{traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
