"""Tests of the chat in a frame of another site. To a browser `localhost` is another site than 127.0.0.1."""

import json
import os
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import expect

from site_under_test import LISTEN, say

REFUSED = [r"frame-ancestors", r"Failed to load resource", r"ERR_BLOCKED_BY_RESPONSE"]


@contextmanager
def page_with_frame(address, port=0):
    """A page that shows an address in a frame."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if self.path == "/":
                self.wfile.write(f'<!doctype html><link rel=icon href=data:,><iframe src="{address}" title="Order desk" width=400 height=600></iframe>'.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def browser_that_keeps(site, **preferences):
    """A browser with settings of a person."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "Default").mkdir()
        (Path(folder) / "Default/Preferences").write_text(json.dumps({"profile": preferences}))
        chromium = os.environ.get("PLAYHOUSE_CHROMIUM", "/usr/bin/chromium")
        context = site.browser.browser_type.launch_persistent_context(folder, executable_path=chromium, args=["--no-sandbox"])
        context.add_init_script(LISTEN)
        try:
            yield context
        finally:
            context.close()


def talk(site, context, over_reload):
    """A visitor talks, and finds the conversation after a reload if the browser keeps it."""
    with page_with_frame(f"{site.url}/chat/{site.program}", site.frames) as url:
        page = site.page("/", context=context, base=url, allow=REFUSED)
        frame = page.frame_locator("iframe")
        log = frame.get_by_role("region", name="Conversation")
        expect(log).to_contain_text("number of your order")
        inner = page.frames[1]
        kept = inner.evaluate("() => { document.cookie = 'a=b; SameSite=None; Secure'; return document.cookie; }")
        say(frame, "4334")
        expect(log).to_contain_text("Thursday")
        site.shot(page, "frame")
        page.reload()
        expect(log).to_contain_text("number of your order")
        expect(log.locator(".bubble")).to_have_count(1 if over_reload else 0)
        return kept


def test_a_visitor_talks_in_a_frame_of_another_site(site):
    with browser_that_keeps(site, cookie_controls_mode=0, block_third_party_cookies=False) as context:
        assert talk(site, context, True) == "a=b", "this browser takes cookies of others"


def test_a_visitor_talks_where_nothing_of_other_sites_is_kept(site):
    with browser_that_keeps(site, cookie_controls_mode=1, block_third_party_cookies=True) as context:
        assert talk(site, context, False) == ""


def test_no_other_page_shows_the_chat_and_none_shows_the_rest(site):
    for port, path in [(0, f"/chat/{site.program}"), (site.frames, "/")]:
        with page_with_frame(site.url + path, port) as url:
            page = site.page("/", base=url, allow=REFUSED)
            page.wait_for_timeout(1000)
            assert page.frames[1].url.startswith("chrome-error:"), page.frames[1].url
