import sys

import pytest
from peers.catalogue import Peer
from peers.run import Adapter, PeerMissing

ADAPTER = """
import os
from peerkit import serve

def last(job):
    print("a peer that talks")
    match job.messages[0]["content"]:
        case "hang":
            while True:
                pass
        case "crash":
            os._exit(3)
    return job.messages[-1:]

serve({"last": last}, [])
"""


def job(text, name="x"):
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "yes"}]
    return {"id": name, "messages": messages, "target_tokens": 5}


YES = [{"role": "assistant", "content": "yes"}]


@pytest.fixture
def peer(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "adapter.py").write_text(ADAPTER)
    return Peer("toy", str(tmp_path), "last", "keeps the last message")


def test_jobs_go_through_one_process_whatever_the_peer_prints(peer):
    with Adapter(peer) as adapter:
        results = [adapter.do(job("hello", name)) for name in "ab"]
    assert [(one.id, one.messages, one.error) for one in results] == [("a", YES, None), ("b", YES, None)]


def test_a_job_that_takes_too_long_does_not_hold_up_the_next(peer):
    with Adapter(peer, job_seconds=0.3) as adapter:
        assert adapter.do(job("hang")).error == "took more than 0.3 s"
        adapter.job_seconds = 60
        assert adapter.do(job("hello")).messages == YES


def test_an_adapter_that_dies_is_an_error_of_that_job_alone(peer):
    with Adapter(peer) as adapter:
        assert adapter.do(job("crash")).error == "the adapter ended: a peer that talks"
        assert adapter.do(job("hello")).messages == YES


def test_a_peer_that_is_not_installed_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_ENVS", str(tmp_path))
    with pytest.raises(PeerMissing, match=r"install\.py strands"):
        Adapter(Peer("strands", "strands", "summary", "")).__enter__()


def test_a_peer_that_cannot_be_imported_says_why(peer):
    peer.adapter.write_text("import nowhere_to_be_found")
    with pytest.raises(PeerMissing, match="No module named 'nowhere_to_be_found'"):
        Adapter(peer).__enter__()
