from playhouse_sdk.pytest_plugin import Playhouse

def test_program(playhouse: Playhouse) -> None:
    playhouse.check("desk.md", plugins=["desk"])
    playhouse.play("desk.test.md", "parcels.test.md")

def test_refund(playhouse: Playhouse) -> None:
    session = playhouse.session("desk.md", model="embedded")
    assert session.say("4335").waiting == "approval"
    session.answer(True)
    assert session.value == "refunded 4335"
