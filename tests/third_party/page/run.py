"""Tests of the page of `playhouse serve` in a browser.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt && npm ci
    venv/bin/python run.py [SCREENSHOTS] [--server URL --program NAME] [--axe axe.min.js] [--only WORD]

With `--frames PORT` those of the chat in frames run, against a server whose visitors are welcome and whose chat a page of
http://localhost:PORT may show. Without `--server` all run against `mock.py`. With the address of a real server, which needs no token and has the program
`examples/order-status.md` under NAME (with its tools), those run that need nothing of the mock. Needs Chromium
(`apt-get install chromium`, or PLAYHOUSE_CHROMIUM). Screenshots are written into the folder SCREENSHOTS."""

import argparse
import os
import sys
import threading
import time
import traceback
from pathlib import Path

from playwright.sync_api import sync_playwright

import anywhere
import with_frames
import with_mock
import with_server
from site_under_test import Site

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("screenshots", nargs="?", type=Path)
    parser.add_argument("--server")
    parser.add_argument("--frames", type=int)
    parser.add_argument("--program", default="order-desk")
    parser.add_argument("--axe", type=Path, default=HERE / "node_modules/axe-core/axe.min.js")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    rooms = [with_frames] if options.frames else [anywhere, with_server if options.server else with_mock]
    tests = [(name, test) for room in rooms for name, test in vars(room).items() if name.startswith("test_") and options.only in name]
    passed = failed = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("PLAYHOUSE_CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"])
        for name, test in tests:
            world, url, guarded, servers = None, options.server and options.server.rstrip("/"), None, []
            if not options.server:
                import mock
                # Each test has servers of its own, so none depends on another.
                servers = [mock.serve(pace=0.002), mock.serve(pace=0.002, auth=True)]
                for server in servers:
                    threading.Thread(target=server.serve_forever, daemon=True).start()
                url, guarded = (f"http://127.0.0.1:{server.server_address[1]}" for server in servers)
                world = servers[0].RequestHandlerClass.world
            site = Site(browser, url, options.program, world, guarded, options.screenshots, options.axe)
            site.frames = options.frames
            began = time.time()
            try:
                try:
                    test(site)
                finally:
                    site.close()
                passed += 1
                print(f"ok   {name} ({time.time() - began:.1f} s)", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
            for server in servers:
                server.shutdown()
        browser.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
