"""Prompt caches: where to put cache marks, what a cache sees of a request, why it missed."""

from clew.request.cache.call import Call
from clew.request.cache.cause import Cause, Miss, cause_of_miss
from clew.request.cache.layout import Layout, layout_of
from clew.request.cache.marks import Marks, marked

__all__ = ["Call", "Cause", "Layout", "Marks", "Miss", "cause_of_miss", "layout_of", "marked"]
