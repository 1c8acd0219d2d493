"""After a compaction: what the view no longer shows and the next call needs."""

from clew.context.rehydrate.now import Now, Reference, invoked_skills
from clew.context.rehydrate.told import rehydrate

__all__ = ["Now", "Reference", "invoked_skills", "rehydrate"]
