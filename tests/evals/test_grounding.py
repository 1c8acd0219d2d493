"""A value in a digest that the session never held is unsupported."""

from __future__ import annotations

from clew_evals.composition import unsupported
from clew_evals.policies.fit import as_summary
from tests.evals.sessions import agent, cut, user

GIVEN = cut(
    [user("Mend src/app/upload.py please."), agent("The limit is upload_retry_cap, and 4711 bytes.")],
    [agent("Done.")],
    system="Use deploy_target_name.",
)


def test_values_of_the_session_and_of_its_system_prompt_are_supported():
    view = as_summary("In src/app/upload.py the limit is upload_retry_cap; see deploy_target_name.")
    assert unsupported(GIVEN, view) == 0


def test_made_up_and_mutilated_values_are_not():
    view = as_summary("In src/app/upload.py the limit is upload_retry_ca, or 4712 bytes, by download_limit.")
    assert unsupported(GIVEN, view) == 2 / 4


def test_a_message_that_is_as_it_was_says_nothing_about_grounding():
    assert unsupported(GIVEN, GIVEN.items) is None


def test_prose_without_values_is_not_asked():
    assert unsupported(GIVEN, as_summary("We were mending something.")) is None
