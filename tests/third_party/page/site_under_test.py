"""A server with the page, and what the tests do with it."""

import json
import re
import time
import urllib.request

from playwright.sync_api import expect

# How long anything may take, in milliseconds: builds of other things may run beside.
PATIENCE = 30_000
expect.set_options(timeout=PATIENCE)

MOBILE, DESKTOP = (360, 740), (1400, 860)

# What the browser refuses by the content policy is told to the page; the tests keep it.
LISTEN = """window.refused = [];
addEventListener("securitypolicyviolation", (e) => window.refused.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));"""


class Site:
    """A server, and what the tests do with it."""

    def __init__(self, browser, url, program, world=None, guarded=None, shots=None, axe=None):
        self.browser, self.url, self.program, self.world, self.guarded = browser, url, program, world, guarded
        self.shots, self.axe = shots, axe
        self.contexts, self.complaints = [], []

    def page(self, path="/", size=DESKTOP, scheme="light", context=None, allow=(), base=None, **options):
        if context is None:
            context = self.browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, **options)
            context.add_init_script(LISTEN)
            self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)

        def hear(message):
            # What the browser itself says of a refused or a lost request is no fault of the page.
            if message.type in ("error", "warning") and not any(re.search(words, message.text) for words in allow):
                self.complaints.append(message.text)
        page.on("console", hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto((base or self.url) + path)
        return page

    def close(self):
        for context in self.contexts:
            for page in context.pages:
                self.complaints += page.evaluate("window.refused")
            context.close()
        self.contexts = []
        complaints, self.complaints = self.complaints, []
        assert not complaints, complaints

    def post(self, path, body, base=None):
        request = urllib.request.Request((base or self.url) + path, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or "null")

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def begin(self, program, *texts):
        """A session in which the user has said `texts`; its id."""
        id = self.post("/api/sessions", {"program": program})["id"]
        for text in texts:
            self.wait(id, "waiting")
            self.post(f"/api/sessions/{id}/messages", {"text": text, "id": f"{id}-{text}"})
            time.sleep(0.1)
        return id

    def wait(self, id, *states):
        for _ in range(400):
            if self.get(f"/api/sessions/{id}")["state"] in states:
                return
            time.sleep(0.05)
        raise AssertionError(f"{id} did not come to be {states}")

    def shot(self, page, name):
        if self.shots:
            page.screenshot(path=self.shots / f"{name}.png")


def log(page):
    return page.get_by_role("region", name="Conversation")


def say(page, text):
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_label("Message", exact=True).press("Enter")


LOST = [r"ERR_INCOMPLETE_CHUNKED_ENCODING", r"ERR_EMPTY_RESPONSE", r"ERR_CONNECTION", r"ERR_INTERNET_DISCONNECTED", r"Failed to load resource"]
