"""Functions that the garbage collector lets finish first."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def undisturbed(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """Have a function run without the garbage collector.

    To make or judge a plan takes tens of thousands of small values, none of them in a cycle, that live no
    longer than the function. The collector would take them for new long-lived ones and go through all of
    the host's memory because of them, once or twice a pass. A host that has switched it off keeps it off.
    """

    @wraps(work)
    def run(*given: Given.args, **named: Given.kwargs) -> Made:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return work(*given, **named)
        finally:
            if was_on:  # of two threads at once, the one that came first switches it on again
                gc.enable()

    return run
