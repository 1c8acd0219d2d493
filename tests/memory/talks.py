"""Sessions for tests of the memory: long enough to be compacted, with values planted in them."""

from random import Random

from clew.compaction.plan import Claim, ClaimKind, Condense, Digest, Plan, Shrink
from clew.compaction.plan.codec import plan_to_json, shown_messages
from clew.log import COMPACTION, message_event, message_to_json, new_event
from clew.message import Cite, Message, Role, Text, ToolCall, ToolResult, Trust, text_message

WORDS = ("build", "deploy", "kiln", "oven", "glaze", "clay", "firing", "shelf", "wheel", "pottery", "invoice")


def filler(rng: Random, words: int = 80) -> str:
    """Return words that mean nothing."""
    return " ".join(rng.choices(WORDS, k=words))


def round_of(rng: Random, number: int) -> tuple[list[Message], dict[str, int]]:
    """Return messages of one round, and where in it each value was planted: an id, a path, an error."""
    order, path, error = (
        f"KX-{rng.randrange(10**6):06}",
        f"src/mod{number}/heat_{number}.py",
        f"E{5000 + number}",
    )
    call = ToolCall(f"c{number}", "read", {"path": path}, trust=Trust.ASSISTANT)
    output = f"{filler(rng, 400)}\nerror {error} in line {number}\n{filler(rng, 400)}"
    messages = [
        text_message(Role.USER, f"Go on with {filler(rng)}"),
        text_message(Role.USER, f"The order of batch {number} is {order}. {filler(rng)}"),
        Message(Role.ASSISTANT, (call,)),
        Message(Role.TOOL, (ToolResult(f"c{number}", (Text(output),)),)),
        *(text_message(Role.ASSISTANT, f"Step {number}.{n} {filler(rng)}") for n in range(8)),
    ]
    return messages, {order: 1, path: 2, error: 3}


def compaction(number: int, first: int, last: int, *, folds: str = "", stub: str = ""):
    """Return the event of a compaction: m``first`` to m``last`` become the digest d``number``."""
    name = f"d{number}"
    own = tuple(f"m{n}" for n in range(first, last + 1))
    old = Claim(f"{name}.1", ClaimKind.FACT, "taken over from before", (Cite("m1"),), Trust.USER)
    new = Claim(f"{name}.2", ClaimKind.DECISION, f"decision{number} holds", (Cite(own[0]),), Trust.USER)
    claims = (old, new) if folds else (new,)
    digest = Digest(name, int(bool(folds)), own, "sha256:0", claims, folds=(folds,) if folds else ())
    operations = [Condense((folds, *own) if folds else own, digest)]
    operations += [Shrink(stub, text_message(Role.TOOL, "…"), "read again later")] if stub else []
    plan = Plan(tuple(operations), 9, 1, 1, "manual", "asked for")
    shown = shown_messages(plan)
    body = {
        "splices": [],
        "names": [named for named, _ in shown],
        "messages": [message_to_json(message) for _, message in shown],
        "plan": plan_to_json(plan),
    }
    return new_event(COMPACTION.name, body, COMPACTION.version)


def turns(count: int, start: int = 1):
    """Return events of messages that can be told apart."""
    return [message_event(text_message(Role.USER, f"message number{start + n}")) for n in range(count)]
