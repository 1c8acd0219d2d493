"""What every adapter shares. Plain Python: it runs in each peer's own environment, without clew."""

from .chat import joined, system_first, text_of
from .job import Job
from .serve import serve

__all__ = ["Job", "joined", "serve", "system_first", "text_of"]
