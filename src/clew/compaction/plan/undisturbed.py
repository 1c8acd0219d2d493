"""A decorator that pauses the garbage collector while a function runs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def undisturbed(work: Callable[Given, Made]) -> Callable[Given, Made]:
    """Run a function with the garbage collector paused.

    Making or checking a plan allocates tens of thousands of small, short-lived values without cycles. The
    collector would respond with one or two full collections of the host's memory per pass. If the host has
    disabled the collector, it stays disabled.
    """

    @wraps(work)
    def run(*given: Given.args, **named: Given.kwargs) -> Made:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return work(*given, **named)
        finally:
            if was_on:  # with two threads at once, the first to finish enables it again
                gc.enable()

    return run
