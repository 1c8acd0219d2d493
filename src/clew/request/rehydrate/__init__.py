"""After a compaction: what the next model call needs and the view no longer shows."""

from clew.request.rehydrate.now import Now, Reference, invoked_skills
from clew.request.rehydrate.told import rehydrate

__all__ = ["Now", "Reference", "invoked_skills", "rehydrate"]
