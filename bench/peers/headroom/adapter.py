"""headroom: ``compress``, without its downloaded text model."""

from __future__ import annotations

from headroom import compress
from peerkit import Job, serve
from peerkit.chat import Chat


def compressed(job: Job) -> Chat:
    """Compress what is not recent; it drops no message, so a target can only be wished for."""
    ratio = min(1.0, job.target_tokens / job.tokens) if job.tokens else None
    messages = [{"content": None, **one} for one in job.messages]
    with job.timing():
        result = compress(
            messages,
            model="gpt-4o",
            target_ratio=ratio,
            protect_recent=4 if job.keep_last is None else job.keep_last,
            min_tokens_to_compress=25,
            kompress_model="disabled",
        )
    return result.messages


serve({"compress": compressed}, ["headroom-ai"])
