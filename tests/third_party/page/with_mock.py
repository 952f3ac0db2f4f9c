"""Tests with the mock's programs, and with what goes wrong."""

import re
import time

from playwright.sync_api import expect

from site_under_test import DESKTOP, LOST, MOBILE, log, say


def test_a_reply_streams(site):
    id = site.begin("tea")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("Ask me how tea is made.")
    site.world.pace = 0.03
    say(page, "How?")
    speech = log(page).locator(".speech").last
    expect(speech).to_contain_text("Here is how")
    lengths = []
    for _ in range(8):
        lengths.append(len(speech.inner_text()))
        time.sleep(0.15)
    assert lengths[0] < lengths[3] < lengths[7], lengths
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".head")).to_contain_text("Speaking")
    site.shot(page, "streaming")
    expect(speech.locator("strong")).to_have_text("80 °C")
    expect(speech.locator("ol > li")).to_have_count(3)
    expect(speech.locator("ul > li")).to_have_count(2)
    expect(speech.locator("pre")).to_contain_text("second      30")
    expect(speech.get_by_role("link")).to_have_attribute("href", "https://tea.example/brew")
    assert speech.locator("a").count() == 1, "an address that is no web page is no link"
    expect(speech).to_contain_text("<b>nobody</b>")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(log(page)).to_contain_text("Reply cut off: it was interrupted")
    expect(page.get_by_role("status").filter(has_text="Here is how")).to_have_count(1)


def test_a_reload_in_mid_sentence(site):
    id = site.begin("tea")
    page = site.page(f"/#/s/{id}")
    site.world.pace = 0.02
    say(page, "How?")
    expect(log(page).locator(".speech").last).to_contain_text("Boil")
    page.reload()
    expect(log(page).locator(".speech").last).to_contain_text("Here is how the tea is made.")
    site.world.pace = 0
    expect(log(page)).to_contain_text("the water turns green.")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    whole = log(page).locator(".speech").last.inner_text()
    assert whole.count("Here is how") == 1 and whole.count("Slowly the leaves") == 8, whole


def test_a_lost_connection(site):
    id = site.begin("tea")
    page = site.page(f"/#/s/{id}", allow=LOST)
    site.world.pace = 0.02
    say(page, "How?")
    expect(log(page).locator(".speech").last).to_contain_text("Boil")
    site.post("/mock/break", {})
    site.post("/mock/restart", {"seconds": 1.5})
    expect(page.locator(".lost")).to_contain_text("Connection lost")
    site.shot(page, "lost")
    expect(page.locator(".lost")).to_have_count(0)
    site.world.pace = 0
    expect(log(page)).to_contain_text("the water turns green.")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    whole = log(page).locator(".speech").last.inner_text()
    assert whole.count("Here is how") == 1 and whole.count("Slowly the leaves") == 8, whole


def test_a_message_while_the_server_is_away(site):
    id = site.begin("tea")
    page = site.page(f"/#/s/{id}", allow=LOST)
    expect(log(page)).to_contain_text("Ask me")
    site.post("/mock/restart", {"seconds": 1.2})
    say(page, "Are you there?")
    expect(log(page)).to_contain_text("Not sent yet")
    expect(log(page)).to_contain_text("Here is how")
    assert log(page).locator(".bubble").count() == 1
    # A message that has come, without an answer: it is sent again under its id, and is one message.
    site.wait(id, "waiting")
    site.post("/mock/lose", {"messages": 2})
    say(page, "And again?")
    time.sleep(4)
    session = site.world.sessions[id]
    heard = [event["text"] for event in session.events if event["type"] == "user_message"]
    assert heard == ["Are you there?", "And again?"], heard
    expect(log(page).locator(".bubble")).to_have_count(2)
    expect(log(page).locator(".pending")).to_have_count(0)


def test_a_reset_tells_all_again(site):
    id = site.begin("tea", "How?")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("the water turns green.")
    site.post("/mock/reset", {})
    time.sleep(0.5)
    expect(log(page).locator(".bubble")).to_have_count(1)
    expect(log(page).locator(".speech")).to_have_count(2)


def test_hidden_tabs_listen_to_nothing(site):
    id = site.begin("tea")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("Ask me")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(hide % "true")
    site.post(f"/api/sessions/{id}/messages", {"text": "How?", "id": "hidden"})
    time.sleep(1)
    assert "Here is how" not in log(page).inner_text()
    page.evaluate(hide % "false")
    expect(log(page)).to_contain_text("Here is how")
    streams = [url for url in asked if "/events" in url]
    assert len(streams) == 1 and "after=1%3A" in streams[0], streams


def test_an_approval(site):
    id = site.begin("lighthouse", "Nine, with the children.", "Then the Sunday.", "Ida Berg", "ida@fjord.example")
    site.wait(id, "approval")
    page = site.page(f"/#/s/{id}")
    card = page.get_by_role("region", name="Question")
    expect(card).to_contain_text("May I call BookTour")
    expect(card.get_by_role("row", name="party_size")).to_contain_text("from the model")
    expect(page.locator(".head")).to_contain_text("Needs approval")
    expect(page.locator(".badge")).to_have_text("1")
    site.shot(page, "approval")
    card.get_by_role("button", name="Yes").click()
    expect(log(page)).to_contain_text("Your number is L-41")
    expect(log(page)).to_contain_text("Confirmed")
    expect(page.locator(".badge")).to_have_count(0)
    # Two at once, from the list, one with words.
    for name in ("Ann", "Ben"):
        site.wait(site.begin("lighthouse", "two", "Sunday", name, f"{name}@x.example"), "approval")
    page.goto(f"{site.url}/#/approvals")
    cards = page.get_by_role("region", name="Question")
    expect(cards).to_have_count(2)
    cards.filter(has_text="Ann").get_by_role("textbox").fill("only on Monday")
    site.shot(page, "approvals")
    cards.filter(has_text="Ann").get_by_role("button", name="Answer").click()
    expect(cards).to_have_count(1)
    expect(cards).to_contain_text("Ben")
    assert any(("answer", "only on Monday") in session.inputs for session in site.world.sessions.values())


def test_a_trigger_cuts_a_reply(site):
    id = site.begin("lighthouse", "Nine, with the children.")
    page = site.page(f"/#/s/{id}")
    cut = log(page).locator(".stream_cancelled")
    expect(cut).to_contain_text("Reply cut off by trigger WelcomeAGroup:T1, as $party_size became 9")
    assert log(page).locator(".trigger_matched").count() == 0, "the match and the cut are one"
    cut.get_by_role("button", name="why?").click()
    expect(page.locator(".why")).to_contain_text("When $party_size >= 8")
    expect(page.locator(".why")).to_contain_text("its playbook was called")
    site.shot(page, "why")
    # In its playbook the line that was interrupted is pale, the running one bright.
    log(page).locator(".item.program").filter(has_text="second guide").hover()
    log(page).get_by_role("button", name="Go to the moment of WelcomeAGroup:01").click()
    expect(page.locator(".text .running")).to_contain_text("second guide comes along")
    expect(page.locator(".text .caller")).to_contain_text("how many people will come")
    expect(page.locator(".stack li")).to_have_count(2)
    expect(page.locator(".stack .top")).to_contain_text("WelcomeAGroup")
    expect(page.locator(".triggers .lit")).to_have_text("active")
    expect(page.locator(".text .running")).to_be_in_viewport()


def test_a_variable_that_changes_is_lit(site):
    id = site.begin("lighthouse", "two")
    page = site.page(f"/#/s/{id}")
    expect(page.locator(".variable").filter(has_text="$party_size")).to_contain_text("from the model")
    expect(page.locator(".variable.flash")).to_have_count(0)
    say(page, "Sunday")
    expect(page.locator(".variable.flash").filter(has_text="$user_message")).to_have_count(1)
    expect(page.locator(".variable.flash").filter(has_text="$party_size")).to_have_count(0)


def test_state_is_asked_for_five_times_a_second(site):
    id = site.begin("long")
    site.wait(id, "waiting")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("798")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    expect(page.get_by_role("button", name="Back one line")).to_be_enabled()
    expect(page.get_by_role("slider")).to_have_attribute("max", "801")
    asked.clear()
    began = time.time()
    # However late a busy machine comes to it: one is asked for.
    with page.expect_request(lambda request: "/state" in request.url):
        for _ in range(50):
            page.keyboard.press(",")
    page.wait_for_timeout(1000)
    states = [url for url in asked if "/state" in url]
    took = time.time() - began
    assert 1 <= len(states) <= 5 * took + 2, (len(states), took)


def test_a_long_conversation(site):
    id = site.begin("long")
    site.wait(id, "waiting")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("It is 798.")
    expect(log(page).locator(".item").last).to_be_in_viewport()
    assert log(page).locator(".item").count() <= 160
    page.get_by_role("button", name=re.compile("Show earlier")).click()
    assert 250 < log(page).locator(".item").count() <= 310
    site.shot(page, "long")
    log(page).evaluate("(el) => el.scrollTo(0, 0)")
    page.get_by_role("button", name="Newest").click()
    expect(log(page).locator(".item").last).to_be_in_viewport()


def test_hostile_text_is_text(site):
    id = site.begin("hostile", "go on")
    site.wait(id, "approval")
    for size, name in ((DESKTOP, "hostile"), (MOBILE, "hostile-mobile")):
        page = site.page(f"/#/s/{id}", size=size)
        expect(page.get_by_role("region", name="Question")).to_contain_text("May I call Pay")
        if size == DESKTOP:
            expect(page.locator(".know")).to_contain_text("$__proto__")
            page.locator(".variable").filter(has_text="$unbroken").locator("summary").click()
            log(page).locator(".chip").first.locator("summary").first.click()
            page.locator(".triggers summary").click()
            expect(page.locator(".why")).to_contain_text("<img src=x")
            assert "***" in page.locator(".variable").filter(has_text="$pin").inner_text()
        assert page.locator("#page script, #page img, #page iframe").count() == 0
        hrefs = page.eval_on_selector_all("#page a", "(all) => all.map((a) => a.getAttribute('href'))")
        assert all(re.match(r"https?://|#/", href) for href in hrefs), hrefs
        assert page.title() != "owned"
        wide = page.evaluate("""() => [...document.querySelectorAll("#page *")].filter((el) => !el.closest(".sr") && el.getBoundingClientRect().right > innerWidth + 1)
            .filter((el) => { for (let at = el.parentElement; at; at = at.parentElement) if (getComputedStyle(at).overflowX !== "visible") return false; return true; }).map((el) => el.className)""")
        assert not wide, wide
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        site.shot(page, name)


def test_a_failure(site):
    id = site.begin("tea", "fail please")
    page = site.page(f"/#/s/{id}")
    expect(log(page).get_by_role("alert")).to_contain_text("set OPENAI_API_KEY")
    expect(page.locator(".composer")).to_contain_text("This session has failed.")
    site.shot(page, "failed")


def test_two_tabs_see_the_same(site):
    id = site.begin("tea")
    one = site.page(f"/#/s/{id}")
    two = site.page(f"/#/s/{id}", context=one.context)
    for page in (one, two):
        expect(log(page)).to_contain_text("Ask me")
    say(one, "How?")
    for page in (one, two):
        expect(log(page).locator(".bubble")).to_have_text("How?")
        expect(log(page)).to_contain_text("the water turns green.")
    say(two, "fail please")
    for page in (one, two):
        expect(log(page).locator(".bubble")).to_have_count(2)
        expect(page.locator(".composer")).to_contain_text("This session has failed.")


def test_a_tool_asks_in_the_chat(site):
    page = site.page("/chat/tea")
    say(page, "I have a question")
    card = page.get_by_role("region", name="Question")
    expect(card).to_contain_text("Which tea do you mean")
    card.get_by_role("textbox").fill("oolong")
    site.shot(page, "chat-question")
    card.get_by_role("textbox").press("Enter")
    expect(log(page)).to_contain_text("Then oolong it is.")


def test_focus_stays_and_keys_work(site):
    id = site.begin("lighthouse", "two")
    page = site.page(f"/#/s/{id}")
    expect(log(page)).to_contain_text("Which day")
    box = page.get_by_label("Message", exact=True)
    box.focus()
    page.keyboard.type("a,b<c>d.l")
    expect(page.locator(".banner")).to_have_count(0)
    expect(box).to_have_value("a,b<c>d.l")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Enter")
    expect(log(page).locator(".bubble").last).to_have_text("a,b<c>d.l")
    expect(log(page)).to_contain_text("What is your name?")
    expect(box).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(",")
    expect(page.locator(".banner")).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator(".banner")).to_have_count(0)


def test_tokens_and_visitors(site):
    refused = [r"status of 40[13]"]
    page = site.page("/", base=site.guarded, allow=refused)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Wrong token")
    site.shot(page, "login")
    page.get_by_label("Token").fill("op")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="New session")).to_be_visible()
    expect(page.locator(".who")).to_contain_text("olga")
    # A visitor in a frame of another site: no cookie, and no more than may be seen.
    visitor = site.page("/chat/lighthouse", base=site.guarded, allow=refused)
    for text, answer in (("two", "Which day"), ("Sunday", "your name"), ("Ida", "reach you"), ("ida@x.example", "A colleague has to confirm this.")):
        say(visitor, text)
        expect(log(visitor)).to_contain_text(answer)
    assert "BookTour" not in visitor.locator(".card.approval").inner_text()
    expect(visitor.get_by_role("button", name="Yes")).to_have_count(0)
    expect(visitor.locator(".chip")).to_have_count(0)
    page.get_by_role("link", name="Approvals").click()
    page.get_by_role("button", name="Yes").click()
    expect(log(visitor)).to_contain_text("L-41")
    visitor.reload()
    expect(log(visitor)).to_contain_text("L-41")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_axe_finds_nothing_serious(site):
    source = site.axe.read_text()
    approval = site.begin("lighthouse", "Nine, with the children.", "Sunday", "Ida", "x@y.example")
    site.wait(approval, "approval")
    hostile = site.begin("hostile")
    site.wait(hostile, "waiting")
    tea = site.begin("tea", "How?")
    site.wait(tea, "waiting")
    failed = site.begin("tea", "fail please")

    def past(page):
        page.get_by_role("button", name="Back one turn").click()
        expect(page.locator(".banner")).to_be_visible()

    def fork(page):
        past(page)
        page.get_by_role("button", name="Fork here").click()

    def why(page):
        (page.locator(".tabs").get_by_text("Inspector").click() if page.viewport_size["width"] < 720 else None)
        page.locator(".triggers summary").first.click()
        expect(page.locator(".why")).to_be_visible()

    def source_tab(page):
        if page.viewport_size["width"] < 720:
            page.locator(".tabs").get_by_text("Source").click()

    places = [("home", "/", None), ("approvals", "/#/approvals", None), ("session", f"/#/s/{approval}", None), ("past", f"/#/s/{approval}", past),
              ("fork", f"/#/s/{approval}", fork), ("why", f"/#/s/{approval}", why), ("source", f"/#/s/{approval}", source_tab),
              ("hostile", f"/#/s/{hostile}", None), ("tea", f"/#/s/{tea}", None), ("failed", f"/#/s/{failed}", None), ("chat", "/chat/tea", None)]
    found = []
    for size in (DESKTOP, MOBILE):
        for scheme in ("light", "dark"):
            for name, path, act in places:
                page = site.page(path, size=size, scheme=scheme, reduced_motion="reduce")
                page.wait_for_load_state("networkidle") if name in ("home", "approvals") else expect(log(page).locator(".item").first).to_be_visible()
                time.sleep(0.4)
                if act:
                    act(page)
                    time.sleep(0.3)
                page.evaluate(source)
                report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
                for one in report["violations"]:
                    if one["impact"] in ("serious", "critical"):
                        found.append((name, size, scheme, one["id"], one["nodes"][0]["html"][:140], one["nodes"][0]["failureSummary"][:200]))
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, size)
                site.shot(page, f"{name}-{size[0]}-{scheme}")
                page.context.close()
                site.contexts.remove(page.context)
    assert not found, "\n".join(map(str, found))
