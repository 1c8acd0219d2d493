"""How the recent past fades: newest first, what is unread whole, never over the room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.compaction.plan.plan import apply
from clew.compaction.propose import propose
from clew.compaction.propose.allotment import WORTH_AN_EXCERPT, Need, allotments, part_levels
from clew.compaction.propose.tail import (
    AGENT_TOKENS,
    DIFF_TOKENS,
    KEPT_SHARE,
    LARGE_ROOM,
    OTHER_TOKENS,
    REACH_SHARE,
    RESULT_TOKENS,
    SMALL_ROOM,
    USER_TOKENS,
    WHOLE_UNREAD_SHARE,
    Fading,
    between,
    faded_part,
    faded_sizes,
    part_level,
    tail_start,
)
from clew.compaction.task import Keep
from clew.message import (
    Media,
    Message,
    Origin,
    Place,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trust,
    text_message,
)
from tests.compaction_propose.sessions import COUNTER, LONG, items, kinds, session, situation, spoken, step

pairs = st.lists(
    st.integers(0, 3_000).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))), max_size=12
)
rooms = st.integers(0, 20_000)


def shared(
    sizes: list[int], faded: list[int], room: int, unread: int, needs: dict[Place, Need] | None = None
) -> list[int] | None:
    """Return the tokens of each message."""
    found = allotments(sizes, faded, room, unread, needs=needs)
    return found.messages if found else None


# Sharing out a room ----------------------------------------------------------------------------------


@given(
    pairs,
    rooms,
    st.integers(0, 12),
    st.dictionaries(
        st.builds(Place, st.integers(0, 11), st.integers(0, 2)),
        st.builds(Need, st.integers(1, 3_000), st.floats(0, 6)),
    ),
)
def test_what_the_next_edits_need_never_exceeds_the_room_either(
    both: list[tuple[int, int]], room: int, unread: int, wanted: dict[Place, Need]
):
    sizes, faded = [size for size, _ in both], [small for _, small in both]
    needs = {place: need for place, need in wanted.items() if place.message < len(sizes)}
    given_ = shared(sizes, faded, room, unread, needs)
    usual = shared(sizes, faded, room, unread)
    assert (given_ is None) == (usual is None)
    if given_ is not None:
        assert sum(given_) <= room
        assert all(one <= size for one, size in zip(given_, sizes, strict=True))


def test_older_results_that_the_next_edits_need_get_their_share_before_newer_ones():
    sizes, faded = [20_000] * 4, [30] * 4
    needs = {Place(i, 0): Need(19_970, weight) for i, weight in enumerate((3.0, 1.0, 0.0))}
    given_ = shared(sizes, faded, 20_120, 4, needs)
    assert given_ is not None
    assert given_[0] >= 30 + 12_000 > given_[1] >= 30 + 4_000  # of four fifths of 20,000
    assert given_[2] < given_[1]


def test_of_results_in_one_message_the_needed_one_gets_the_room():
    message = Message(
        Role.USER, tuple(ToolResult(name, (Text("word " * 12_000, trust=Trust.UNTRUSTED),)) for name in "abc")
    )
    size = COUNTER.count_part(message.parts[0])
    found = allotments([3 * size], [72], 72 + size, 1, needs={Place(0, 1): Need(size, 1.0)})
    assert found is not None
    least = {1: RESULT_TOKENS + found.parts[Place(0, 1)]}
    first, needed, last = part_levels(message, found.messages[0], COUNTER.count_part, least)
    assert needed > size * 0.7 > first == last


def test_a_result_alone_in_its_message_takes_all_that_the_message_gets():
    message = Message(Role.USER, (ToolResult("a", (Text("word " * 4_000, trust=Trust.UNTRUSTED),)),))
    assert part_levels(message, 900, COUNTER.count_part, {0: 300}) == [900]


def test_messages_before_the_running_turn_leave_room_to_its_results():
    asked = [*step("a", "Read", {"file_path": "shop/tax.py"}, LONG), text_message(Role.USER, "What is it?")]
    view = items([*asked * 12, *step("b", "Read", {"file_path": "shop/rates.py"}, LONG)])
    assert tail_start(view, [10] * len(view), 300, Keep(), 0, (35, 0)) == 11
    assert tail_start(view, [10] * len(view), 300, Keep(), 0, (35, 200)) == 29


def test_a_file_that_the_request_names_keeps_more_than_one_that_was_edited_since():
    def file(name: str) -> str:
        return "\n".join(f"line {n} of {name}, with some words" for n in range(200))

    messages = [text_message(Role.USER, "Round the total in shop/rates.py as shop/tax.py does.")]
    messages += step("a", "Read", {"file_path": "shop/rates.py"}, file("rates"))
    messages += step("b", "Read", {"file_path": "shop/tax.py"}, file("tax"))
    messages += step("c", "Edit", {"file_path": "shop/tax.py", "old_string": "a", "new_string": "b"}, "Done")
    for n in range(20):
        messages += step(f"d{n}", "Read", {"file_path": f"shop/part{n}.py"}, file(f"part {n}"))
    shown = _shown(messages)
    assert shown["m3"].count("of rates") > 10
    assert shown["m5"].count("of tax") <= 3
    ended = _shown([*messages, spoken("That is all I found.")])
    assert ended["m3"].count("of rates") <= 3  # nothing is edited next


def _shown(messages: list[Message]) -> dict[str, str]:
    """Return the output that each message shows after a compaction."""
    view = items(messages)
    return {item.id: _output(item.message) for item in apply(propose(situation(view, 8_000)), view)}


def _output(message: Message) -> str:
    return "".join(result.text for result in message.results)


@given(pairs, rooms, st.integers(0, 12))
def test_a_room_is_never_exceeded_and_nothing_gets_less_than_faded_if_there_is_room(
    both: list[tuple[int, int]], room: int, unread: int
):
    sizes, faded = [size for size, _ in both], [small for _, small in both]
    given_ = shared(sizes, faded, room, unread)
    if given_ is None:
        least = sum(max(small, RESULT_TOKENS) for small in faded[unread:])
        assert sum(faded[:unread]) + least + room * WHOLE_UNREAD_SHARE > room
        return
    assert sum(given_) <= room
    assert all(one <= size for one, size in zip(given_, sizes, strict=True))
    if sum(faded[:unread]) <= room * (1 - WHOLE_UNREAD_SHARE) - len(faded[unread:]) * RESULT_TOKENS:
        assert all(small <= one for small, one in zip(faded[:unread], given_, strict=False))


@given(pairs, rooms, st.integers(0, 12))
def test_what_is_unread_is_whole_if_it_fits_half_of_the_room(
    both: list[tuple[int, int]], room: int, unread: int
):
    sizes, faded = [size for size, _ in both], [small for _, small in both]
    given_ = shared(sizes, faded, room, unread)
    if given_ is not None and sum(sizes[unread:]) <= room * WHOLE_UNREAD_SHARE:
        assert given_[unread:] == sizes[unread:]


@given(pairs, rooms, st.integers(0, 2_000), st.integers(0, 12))
def test_with_more_room_the_newest_that_is_cut_gets_no_less(
    both: list[tuple[int, int]], room: int, more: int, unread: int
):
    sizes, faded = [size for size, _ in both], [small for _, small in both]
    less, rich = shared(sizes, faded, room, unread), shared(sizes, faded, room + more, unread)
    if less is None:
        return
    assert rich is not None
    newest = max((i for i, (size, small) in enumerate(both) if size > small), default=None)
    if newest is not None:
        assert rich[newest] >= less[newest]


def test_each_gets_its_share_and_the_newest_are_served_first():
    assert shared([400] * 4, [40] * 4, 160 + 1_200, 4) == [280, 280, 400, 400]


def test_a_giant_leaves_room_for_others_and_takes_what_they_do_not_need():
    sizes, faded, room = [500, 10_000], [36, 36], 1_072
    assert shared(sizes, faded, room, 2) == [36 + 464, 36 + 536]


def test_small_results_come_back_whole_before_a_newer_giant_gets_more():
    sizes, faded, room = [120, 110, 10_000], [36, 36, 36], 1_500
    assert shared(sizes, faded, room, 3)[:2] == [120, 110]


def test_half_of_the_room_goes_to_an_unread_giant_first():
    sizes, faded, room = [500, 10_000], [36, 36], 1_072
    older, unread = shared(sizes, faded, room, 1)
    assert unread > room // 2
    assert older > 36


def test_a_scrap_too_small_to_read_is_not_given_back():
    assert shared([500], [36], 36 + WORTH_AN_EXCERPT - 1, 1) == [36]
    assert shared([40], [36], 40, 1) == [40]  # unless that makes it whole


# The sizes of faded messages --------------------------------------------------------------------------


def test_each_kind_of_part_fades_to_its_own_size():
    spoken = text_message(Role.USER, "x")
    injected = Message(Role.USER, (Text("x"),), Origin.INJECTED)
    agent = text_message(Role.ASSISTANT, "x")
    text, big = Text("x"), 9_000
    assert faded_part(spoken, text, big) == USER_TOKENS
    assert faded_part(injected, text, big) == OTHER_TOKENS
    assert faded_part(agent, text, big) == AGENT_TOKENS
    assert faded_part(agent, ToolCall("c", "run", {}), big) == AGENT_TOKENS
    assert faded_part(spoken, ToolResult("c", (text,)), big) == RESULT_TOKENS
    assert faded_part(spoken, Media("image", ""), big) == big  # cannot be shortened
    assert faded_part(spoken, text, 7) == 7


@given(kinds, st.integers(0, 6_000))
def test_fading_only_shrinks_and_stops_where_the_room_ends(steps: list[str], room: int):
    view = items(session(steps))
    sizes = [COUNTER.count(item.message) for item in view]
    whole, faded = faded_sizes(view, sizes, room, Fading(0), COUNTER.count_part)
    _, every = faded_sizes(view, sizes, sum(sizes), Fading(0), COUNTER.count_part)
    assert whole == sizes
    assert all(0 < small <= size for small, size in zip(faded, sizes, strict=True))
    reached = next((i for i in reversed(range(len(view))) if sum(every[i:]) > room), 0)
    assert faded[reached:] == every[reached:]
    assert faded[:reached] == sizes[:reached]  # not even looked at


def test_thoughts_of_earlier_turns_take_nothing_and_those_of_the_running_turn_stay():
    thinking = Message(Role.ASSISTANT, (Thinking("word " * 300), Text("Done.", trust=Trust.ASSISTANT)))
    view = items([text_message(Role.USER, "go"), thinking, text_message(Role.USER, "on"), thinking])
    sizes = [COUNTER.count(item.message) for item in view]
    whole, faded = faded_sizes(view, sizes, 10_000, Fading(2), COUNTER.count_part)
    assert faded[1] == whole[1] < 30 < sizes[1]
    assert faded[3] == whole[3] == sizes[3]


def test_a_level_for_the_parts_of_a_message_keeps_it_within_its_tokens():
    message = Message(
        Role.ASSISTANT,
        (Text("word " * 300, trust=Trust.ASSISTANT), Text("short", trust=Trust.ASSISTANT)),
    )
    level = part_level(message, 100, COUNTER.count_part)
    assert sum(min(level, COUNTER.count_part(part)) for part in message.parts) <= 100


# Shares by room ---------------------------------------------------------------------------------------


@given(st.sampled_from([KEPT_SHARE, REACH_SHARE, (0.0, 0.06)]), st.integers(0, 50_000), st.integers(0, 5_000))
def test_a_share_changes_steadily_between_two_rooms(shares: tuple[float, float], room: int, more: int):
    small, large = shares
    assert min(shares) <= between(shares, room) <= max(shares)
    step = between(shares, room + more) - between(shares, room)
    assert step * (large - small) >= 0
    assert abs(step) <= abs(large - small) * more / (LARGE_ROOM - SMALL_ROOM) + 1e-9


def test_the_shares_at_both_ends():
    assert between(KEPT_SHARE, 0) == between(KEPT_SHARE, SMALL_ROOM) == KEPT_SHARE[0]
    assert abs(between(KEPT_SHARE, LARGE_ROOM) - KEPT_SHARE[1]) < 1e-9


def test_a_diff_of_the_running_turn_keeps_room_for_the_names_of_its_files():
    lines = "\n".join(f"@@ -{n} +{n} @@\n-old {n}\n+new {n}" for n in range(300))
    result = Message(Role.TOOL, (ToolResult("c", (Text(f"diff --git a/f.py b/f.py\n{lines}"),)),))
    view = items([result, text_message(Role.USER, "Review it."), result])
    sizes = [COUNTER.count(item.message) for item in view]
    _, faded = faded_sizes(view, sizes, 10_000, Fading(0, turn=1), COUNTER.count_part)
    assert faded[0] < 2 * RESULT_TOKENS < DIFF_TOKENS <= faded[2] < sizes[2]


def test_a_file_of_instructions_from_the_harness_keeps_a_tenth_of_the_room():
    text = "# AGENTS.md instructions for /repo\n" + "Run the linter before each commit.\n" * 60
    rules = Message(Role.USER, (Text(text),), Origin.INJECTED)
    other = Message(Role.USER, (Text(text.replace("AGENTS", "SKILLS")),), Origin.INJECTED)
    view = items([rules, other])
    sizes = [COUNTER.count(item.message) for item in view]
    _, faded = faded_sizes(view, sizes, 10_000, Fading(0), COUNTER.count_part)
    assert faded[0] == sizes[0] > 2 * OTHER_TOKENS > faded[1]
    _, faded = faded_sizes(view, sizes, 2_000, Fading(0), COUNTER.count_part)
    assert 200 <= faded[0] < sizes[0]


def test_the_report_of_another_agent_keeps_a_share_of_the_room():
    view = items(
        [
            text_message(Role.USER, "go"),
            Message(Role.ASSISTANT, (ToolCall("c", "Task", {"prompt": "look"}, trust=Trust.ASSISTANT),)),
            Message(Role.TOOL, (ToolResult("c", (Text("The rates are in tables. " * 400),)),)),
        ]
    )
    sizes = [COUNTER.count(item.message) for item in view]
    usual = faded_sizes(view, sizes, 9_000, Fading(0), COUNTER.count_part)[1]
    more = faded_sizes(view, sizes, 9_000, Fading(0, reports={Place(2, 0)}), COUNTER.count_part)[1]
    assert usual[2] < 40
    assert 250 < more[2] < 290


def test_the_newest_result_of_a_files_edits_is_their_text_if_the_calls_lost_it():
    def edited(path: str, first: int) -> str:
        told = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet:"
        return "\n".join((told, *(f"{n:6}→value_{n} = {n} * compute()" for n in range(first, first + 20))))

    steps = [edited("/app/a.py", 0), edited("/app/b.py", 40), edited("/app/a.py", 80)]
    messages = [text_message(Role.USER, "rename it")]
    for n, output in enumerate(steps):
        messages += step(f"e{n}", "Edit", {}, output)
    messages += [m for n in range(9) for m in step(f"r{n}", "Bash", {"command": f"run {n}"}, f"{n}\n{LONG}")]
    view = items([*messages, spoken("Done.")])
    task = situation(view, sum(COUNTER.count(item.message) for item in view) // 2)
    shown = {item.id: item.message for item in apply(propose(task), view)}
    assert next(shown["m3"].results).text.startswith("[21 lines about /app/a.py, kept as m3]")
    assert [next(shown[name].results).text for name in ("m5", "m7")] == steps[1:]
