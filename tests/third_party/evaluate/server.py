"""A model's server whose replies are drawn by chance, by a seed: it says of a parcel whether it is lost."""

import json
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """`rate(model, number)` says how often a parcel is said to be lost. What is in `out_of_order` (model and number) meets
    errors so often before it is answered."""

    daemon_threads = True

    def __init__(self, seed, rate, out_of_order=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.random = random.Random(seed)
        self.rate = rate
        self.out_of_order = dict(out_of_order)
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def reply(self, model, number):
        """None: an error."""
        with self.lock:
            if self.out_of_order.get((model, number), 0):
                self.out_of_order[model, number] -= 1
                return None
            is_lost = self.random.random() < self.rate(model, number)
        return json.dumps({"at": "01", "set": {"is_lost": is_lost}})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = int(re.search(r"\$number = (\d+)", request["messages"][-1]["content"])[1])
        text = self.server.reply(request["model"], number)
        if text is None:
            return self.answer(503, "application/json", json.dumps({"error": {"message": "overloaded"}}))
        # What a run costs differs from run to run.
        usage = {"prompt_tokens": 100 + 10 * number, "completion_tokens": 10 + self.server.random.randrange(10)}
        chunks = [
            {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {**usage, "total_tokens": sum(usage.values())}},
        ]
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        body = "".join(f"data: {json.dumps(head | chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.answer(200, "text/event-stream", body)

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass
