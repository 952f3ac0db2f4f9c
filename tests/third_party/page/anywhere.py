"""Tests that any server can pass that has `examples/order-status.md` and its tools."""

import re

from playwright.sync_api import expect

from site_under_test import LOST, log, say


def test_a_session_from_the_first_click_to_its_end(site):
    page = site.page()
    page.get_by_role("button", name=f"Begin a session of {site.program}").click()
    expect(log(page)).to_contain_text("number of your order")
    expect(page.locator(".text .running")).to_contain_text("Ask the user for $order_id")
    expect(page.locator(".stack .top")).to_contain_text("OrderStatus")
    say(page, "It's #4334, I think")
    expect(log(page).locator(".bubble")).to_have_text("It's #4334, I think")
    expect(log(page).locator(".chip")).to_contain_text('GetOrderStatus(order_id="4334")')
    expect(log(page)).to_contain_text("Thursday")
    expect(log(page).locator(".ending")).to_contain_text("Finished with")
    expect(page.locator(".composer")).to_contain_text("This session has finished.")
    assert log(page).locator(".bubble").count() == 1, "a message is shown once"
    expect(page.locator(".session[aria-current=page]")).to_contain_text("Finished")
    site.shot(page, "finished")


def test_steps_back_and_forward_show_the_past(site):
    id = site.begin(site.program, "4334")
    site.wait(id, "finished")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("Thursday")
    expect(page.locator(".banner")).to_have_count(0)
    page.get_by_role("button", name="Back one line").click()
    expect(page.locator(".banner")).to_contain_text("The past")
    last = page.locator(".text .running .n").inner_text()
    for _ in range(12):
        page.keyboard.press(",")
    expect(page.locator(".banner")).to_contain_text("OrderStatus:01")
    expect(page.locator(".text .running")).to_contain_text("Welcome")
    expect(page.locator(".variable")).to_have_count(0)
    assert page.locator(".item.future").count() > 2, "what came later is pale"
    expect(page.get_by_label("Message", exact=True)).to_have_count(0)
    page.keyboard.press(">")
    expect(page.locator(".banner")).to_contain_text("OrderStatus:0")
    site.shot(page, "past")
    page.get_by_role("slider", name="Moment").focus()
    page.keyboard.press("End")
    expect(page.locator(".banner")).to_have_count(0)
    assert last != "", "the last line had a number"


def test_a_fork_with_another_value_and_its_difference(site):
    id = site.begin(site.program, "4334")
    site.wait(id, "finished")
    page = site.page(f"/#/s/{id}")
    # To the moment at which the order is known, but has not been looked up.
    log(page).locator(".item.call").hover()
    log(page).locator(".item.call .where").click()
    expect(page.locator(".banner")).to_contain_text("OrderStatus:03")
    expect(page.locator(".variable").filter(has_text="$order_id")).to_contain_text('"4334"')
    page.get_by_role("button", name="Fork here").click()
    dialog = page.get_by_role("dialog", name="Fork here")
    dialog.get_by_label("$order_id").fill("5120")
    site.shot(page, "fork")
    dialog.get_by_role("button", name="Fork", exact=True).click()
    expect(page.locator(".head")).to_contain_text("fork of")
    page.get_by_role("button", name="Compare").click()
    diff = page.get_by_role("dialog", name=f"Compared with {id}")
    expect(diff).to_contain_text("5120")
    expect(diff).to_contain_text("Both did the same for")
    site.shot(page, "diff")
    page.keyboard.press("Escape")
    expect(diff).to_have_count(0)
    assert site.get(f"/api/sessions/{id}")["state"] == "finished", "the first session is as it was"


def test_chat_keeps_its_conversation_over_a_reload(site):
    page = site.page(f"/chat/{site.program}")
    expect(log(page)).to_contain_text("number of your order")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Order ?desk", re.I))
    say(page, "4334")
    expect(log(page)).to_contain_text("Thursday")
    page.reload()
    expect(log(page)).to_contain_text("Thursday")
    expect(log(page).locator(".bubble")).to_have_count(1)
    page.get_by_role("button", name="New conversation").last.click()
    expect(log(page).locator(".bubble")).to_have_count(0)
    expect(log(page)).to_contain_text("number of your order")


def test_no_such_session(site):
    page = site.page("/#/s/none", allow=LOST)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("no such", re.I))
