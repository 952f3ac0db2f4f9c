import sys
from playhouse_sdk import Client, Problem

with Client(sys.argv[1]) as client:
    session = client.begin("desk", labels={"customer": "ida"})["id"]
    print(client.hear(session))
    reply = client.say(session, "4335")
    if reply.call is not None:
        print(reply.question)
        client.answer(session, reply.call, True)
        print(client.hear(session, after=reply.mark))
    print(client.session(session)["state"])
    try:
        client.say(session, "Thank you!")
    except Problem as problem:
        print(problem.status, problem.detail)
