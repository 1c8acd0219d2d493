import re

import pytest
from peers.catalogue import OWN, read_peers

PEERS = read_peers().values()


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_has_an_adapter_that_knows_its_variant(peer):
    assert f'"{peer.variant}": ' in peer.adapter.read_text("utf-8")


@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer.folder != OWN], ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer):
    lines = peer.requirements.read_text("utf-8").split()
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.\[\]-]+==[\w.]+", line)] == []
