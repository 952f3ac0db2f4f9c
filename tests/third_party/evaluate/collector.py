"""A collector of traces (OTLP over HTTP) that decodes with PyPI's `opentelemetry-proto`; what it is given to `/other` it keeps as
it is."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

KINDS = {Span.SPAN_KIND_INTERNAL: "internal", Span.SPAN_KIND_CLIENT: "client"}


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, kind)


def attributes_of(pairs):
    found = {pair.key: value_of(pair.value) for pair in pairs}
    assert len(found) == len(pairs), "an attribute comes twice"
    return found


class Decoded:
    """A span, in plain words."""

    def __init__(self, span, resource):
        self.name, self.kind = span.name, KINDS[span.kind]
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.start, self.end = span.start_time_unix_nano, span.end_time_unix_nano
        self.attributes, self.resource = attributes_of(span.attributes), resource
        self.events = [(event.name, attributes_of(event.attributes)) for event in span.events]
        self.links = [(link.trace_id.hex(), link.span_id.hex()) for link in span.links]
        self.is_error = span.status.code == Status.STATUS_CODE_ERROR
        self.flags = span.flags
        self.bytes = span.SerializeToString(deterministic=True)


def decoded(body):
    request = ExportTraceServiceRequest.FromString(body)
    # A field that this version of the protocol does not know would be lost here.
    assert request.SerializeToString(deterministic=True) == body or len(request.SerializeToString()) == len(body)
    return [
        Decoded(span, attributes_of(of.resource.attributes))
        for of in request.resource_spans
        for scope in of.scope_spans
        for span in scope.spans
    ]


class Collector(ThreadingHTTPServer):
    """Answers with the statuses of `answers` first, one after the other, then with 200; `sleeps`: never in time."""

    daemon_threads = True

    def __init__(self, answers=(), sleeps=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.sleeps = sleeps
        self.requests = []
        self.others = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self):
        return [body for _, _, body, status in self.requests if status == 200]

    def spans(self):
        return [span for body in self.bodies() for span in decoded(body)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/other":
            self.server.others.append((self.headers, body))
            return self.answer(200, "text/plain", b"done")
        if self.server.sleeps:
            time.sleep(60)
        status = self.server.answers.pop(0) if self.server.answers else 200
        self.server.requests.append((self.path, self.headers, body, status))
        self.answer(status, "application/x-protobuf", ExportTraceServiceResponse().SerializeToString())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
