"""After a compaction: what the next model call needs and the view no longer shows."""

from clew.context.rehydrate.now import Now, Reference, invoked_skills
from clew.context.rehydrate.told import rehydrate

__all__ = ["Now", "Reference", "invoked_skills", "rehydrate"]
