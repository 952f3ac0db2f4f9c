"""What is compared, and with what.

Each session has a parcel's number, and all that the program says and computes follows from it. The reference is the
*undisturbed run*: the same sessions on one `playhouse serve` with a store of its own, no engine and nobody killed, of
which it is checked that every session finished with all its utterances and calls. Of a disturbed run all of this must be
the same for each session:

- speech: the pieces that its reader heard, joined for each utterance, byte for byte. The reader came back with its mark
  after every cut, so a byte that is lost or told twice stands there. The whole utterances (`said`) that it heard must be
  the same texts;
- the conversation, the variables with their values, the result, how it ended, and the text of the program it had;
- the calls of tools and playbooks in their order, with arguments and results.

One difference is allowed, as the crash rules make it: a call that may not be repeated (`depot.book`, `depot.refund`) and
was in flight when its node died has the result `outcome unknown: …`. The program goes on from there as with any result, so
nothing else may differ.

The depot counts by itself what it got, with the id of each call: the same for all attempts of one call. A call that may
not be repeated is there once; where the session says `outcome unknown` it may be missing (the node died before the depot
had read it), and still never be there twice. A call that may be repeated is there at least once, always with one id."""

from collections import Counter, defaultdict

UNKNOWN = "outcome unknown"
COMPARED = ["state", "value", "version", "speech", "said", "conversation", "variables", "calls"]
WRITES = ["book", "refund"]
N_UTTERANCES, N_CALLS = 8, 6


def in_words(value):
    text = str(value)
    return text if len(text) <= 600 else f"{text[:600]}…"


def is_unknown(call):
    name, _, result = call
    return name.removeprefix("depot.") in WRITES and str(result).startswith(UNKNOWN)


def same_calls(wanted, found):
    return len(wanted) == len(found) and all(a == b or (a[:2] == b[:2] and is_unknown(b)) for a, b in zip(wanted, found))


def differences(wanted, found):
    """What is not the same, in words."""
    if not wanted:
        yield "the undisturbed run has no such session"
        return
    for name in COMPARED:
        is_same = same_calls(wanted[name], found[name]) if name == "calls" else wanted[name] == found[name]
        if not is_same:
            yield f"{name}\n    wanted {in_words(wanted[name])}\n    got    {in_words(found[name])}"


def depot_faults(accounts, calls, numbers):
    """What is wrong with the calls that the depots got; `numbers` are those of all sessions, whatever has become of them."""
    got = defaultdict(list)
    for call in calls:
        got[call["number"], call["command"]].append(call["id"])
    for number, account in accounts.items():
        unknown = {name.removeprefix("depot.") for name, *_ in filter(is_unknown, account["calls"])}
        for command in WRITES:
            n = len(got.pop((number, command), []))
            if n > 1 or (n == 0 and command not in unknown):
                yield f"{number}: {command} was called {n} times"
        ids = set(got.pop((number, "weigh"), []))
        if len(ids) != 1:
            yield f"{number}: weigh was called with the ids {sorted(ids)}"
    for (number, command), ids in got.items():
        if number not in numbers or number in accounts:
            yield f"{number}: {command} was called by {ids}, which nobody wanted"


def is_whole(account):
    """Whether an undisturbed run of the program looks like this."""
    return (account["state"] == "finished" and len(account["speech"]) == N_UTTERANCES == len(account["said"])
            and account["said"] == account["speech"] and len(account["calls"]) == N_CALLS
            and not any(map(is_unknown, account["calls"])))


def counted(statuses):
    return ", ".join(f"{status}: {n}" for status, n in sorted(Counter(statuses).items()))
