"""Tests that need what the real server knows of `examples/order-status.md`."""

from playwright.sync_api import expect

from site_under_test import log, say


def test_what_the_interpreter_knows_stands_beside_the_conversation(site):
    page = site.page(f"/#/s/{site.begin(site.program)}")
    say(page, "It's 43345678, I think")
    expect(log(page)).to_contain_text("I can't find order 43345678")
    expect(page.locator(".text .running")).to_contain_text("Ask the user for $order_id once more")
    expect(page.locator(".variable", has_text="$order_id")).to_contain_text("43345678")
    expect(page.locator(".stack .top")).to_contain_text("line 04.02")
    # docs/pictures/session.png is this picture, diff.png that of the fork.
    site.shot(page, "session-real")
