"""What goes through a proxy: `client.py PORT CERTIFICATE TOKEN`. Each check has an address of its own, as limits
count addresses."""

import http.client
import json
import socket
import ssl
import subprocess
import sys
import time

PORT, CERTIFICATE, TOKEN = int(sys.argv[1]), *sys.argv[2:]
NAME = "desk.example"
TLS = ssl.create_default_context(cafile=CERTIFICATE)


class Connection(http.client.HTTPSConnection):
    """To the proxy, which has this name, from an address of this machine."""

    def __init__(self, source):
        super().__init__(NAME, PORT, timeout=20, context=TLS)
        self.source = source

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", PORT), 20, (self.source, 0))
        self.sock = TLS.wrap_socket(plain, server_hostname=NAME)


def ask(method, path, body=None, source="127.0.0.2", **headers):
    """An answer whose body is not read yet."""
    headers = {"Host": f"{NAME}:{PORT}"} | {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        body, headers["Content-Type"] = json.dumps(body), "application/json"
    connection = Connection(source)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    answer.connection = connection
    return answer


def whole(*arguments, **headers):
    return json.loads(ask(*arguments, Authorization=f"Bearer {TOKEN}", **headers).read())


def events(answer):
    """Events, and when each has come."""
    event = {}
    for line in answer:
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key:
            event[key] = value
        elif "event" in event:
            yield time.monotonic(), event
            event = {}
        else:
            event = {}


def text(event):
    return json.loads(event["data"])["text"]


def until_waiting(answer):
    told = []
    for at, event in events(answer):
        told.append((at, event))
        if event["event"] == "waiting":
            break
    answer.connection.close()
    return told


def in_pieces(moments):
    """Not all of them at the end: the model takes two seconds for its eight pieces."""
    assert len(moments) >= 4 and moments[-1] - moments[0] > 0.8, [round(at - moments[0], 2) for at in moments]


def test_the_page_and_its_files_load():
    page = ask("GET", "/")
    assert page.status == 200 and b"<script type=\"importmap\">" in page.read()
    assert page.getheader("content-security-policy") and page.getheader("strict-transport-security")
    assert ask("GET", "/page/app.js").getheader("content-type").startswith("text/javascript")


def test_http_2():
    made = subprocess.run(["curl", "-sS", "--http2", "--cacert", CERTIFICATE, "--resolve", f"{NAME}:{PORT}:127.0.0.1",
                           "-w", " %{http_version}", f"https://{NAME}:{PORT}/readyz"], capture_output=True, text=True)
    assert made.stdout == "ready\n 2", made


def test_events_come_piece_by_piece_and_go_on_after_a_mark():
    session = whole("POST", "/api/sessions", {"program": "desk"})["id"]
    path = f"/api/sessions/{session}"
    first = until_waiting(ask("GET", f"{path}/events?show=speech", Authorization=f"Bearer {TOKEN}"))
    mark = first[-1][1]["id"]
    stream = ask("GET", f"{path}/events?show=speech", Authorization=f"Bearer {TOKEN}", Last_Event_ID=mark)
    assert stream.getheader("content-type") == "text/event-stream"
    whole("POST", f"{path}/messages", {"text": "pears"})
    told = until_waiting(stream)
    pieces = [(at, event) for at, event in told if event["event"] == "said_delta"]
    in_pieces([at for at, _ in pieces])
    said = "".join(text(event) for _, event in pieces)
    assert said.startswith("Pears are soft") and said.endswith("to tell."), said
    # From the middle of the utterance on, to the byte.
    middle = pieces[2][1]["id"]
    rest = until_waiting(ask("GET", f"{path}/events?show=speech", Authorization=f"Bearer {TOKEN}", Last_Event_ID=middle))
    rest = "".join(text(event) for _, event in rest if event["event"] == "said_delta")
    assert said == "".join(text(event) for _, event in pieces[:3]) + rest, (said, rest)


def test_a_stream_that_its_client_closes_is_closed_here():
    # A visitor has two at most.
    visitor = f"Bearer {json.loads(ask('POST', '/api/visitors', {'program': 'desk'}, source='127.0.0.5').read())['token']}"
    session = json.loads(ask("POST", "/api/sessions", {"program": "desk"}, Authorization=visitor).read())["id"]
    listen = lambda: ask("GET", f"/api/sessions/{session}/events", Authorization=visitor)
    streams = [listen(), listen()]
    assert [stream.status for stream in streams] == [200, 200] and listen().status == 429
    for stream in streams:
        next(events(stream))
        stream.close()
        stream.connection.close()
    for _ in range(200):
        if listen().status == 200:
            return
        time.sleep(0.1)
    raise AssertionError("streams are still open that nobody hears")


def test_chat_completions_are_streamed():
    body = {"model": "desk", "stream": True, "messages": [{"role": "user", "content": "pears"}]}
    answer = ask("POST", "/v1/chat/completions", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 200, answer.read()
    moments, said = [], ""
    for line in answer:
        if line.startswith(b"data: {"):
            delta = json.loads(line[6:])["choices"][0]["delta"].get("content")
            if delta:
                said += delta
                moments.append(time.monotonic())
    assert "Pears are soft" in said, said
    in_pieces(moments)


def test_a_large_conversation_is_taken():
    before = [{"role": "user", "content": "pears"}, {"role": "assistant", "content": "x" * (2 << 20)}]
    body = {"model": "desk", "messages": [*before, {"role": "user", "content": "apples"}]}
    answer = ask("POST", "/v1/chat/completions", body, Authorization=f"Bearer {TOKEN}")
    assert answer.status == 200, (answer.status, answer.read())


def test_the_cookie_is_of_this_host_and_of_tls_only():
    answer = ask("POST", "/api/login", {"token": TOKEN}, Origin=f"https://{NAME}:{PORT}")
    cookie = answer.getheader("set-cookie")
    assert answer.status == 204 and cookie.startswith("__Host-playhouse=") and "; Secure" in cookie, (answer.status, cookie)
    cookie = cookie.split(";")[0]
    begin = lambda **more: ask("POST", "/api/sessions", {"program": "desk"}, Cookie=cookie, **more).status
    assert [begin(Origin=f"https://{NAME}:{PORT}"), begin(Origin="https://evil.example"), begin()] == [201, 403, 403]


def test_limits_count_the_client_and_not_the_proxy():
    visit = lambda source, **more: ask("POST", "/api/visitors", {"program": "desk"}, source=source, **more).status
    # Whatever a client says of itself.
    statuses = [visit("127.0.0.3", X_Forwarded_For=f"192.0.2.{n}") for n in range(11)]
    assert statuses == [201] * 10 + [429], statuses
    assert visit("127.0.0.4") == 201


def test_another_host_is_none_of_ours():
    answer = ask("GET", "/", Host="evil.example")
    # Caddy answers for no name that is not in its file, and says so with an empty page.
    assert answer.status == 421 or answer.getheader("content-security-policy") is None and not answer.read(), answer.status


def test_nobody_says_who_has_signed_in():
    for name in ("Remote-User", "remote-user", "REMOTE-USER", "Remote_User"):
        assert ask("GET", "/api/me", **{name: "ida"}).status == 401, name
    connection = Connection("127.0.0.2")
    connection.connect()
    # As a client would write it that wants to be misunderstood.
    connection.sock.sendall(f"GET /api/me HTTP/1.1\r\nHost: {NAME}:{PORT}\r\nRemote_User: ida\r\nRemote-User: ida\r\nConnection: Remote-User, close\r\n\r\n".encode())
    assert b" 401 " in connection.sock.recv(4096).split(b"\r\n")[0]


passed = failed = 0
for name, test in list(globals().items()):
    if name.startswith("test_"):
        try:
            test()
            passed += 1
            print(f"passed: {name}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED: {name}: {type(error).__name__}: {error}", flush=True)
print(f"{passed} passed, {failed} failed")
