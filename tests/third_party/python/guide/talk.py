from playhouse_sdk import Session

with Session("desk.md", model="embedded") as session:
    print(session.opening)
    print(session.say("It is 4334"))
    print(session.variables["order"], session.value)
