# SPDX-License-Identifier: Apache-2.0
"""What was withdrawn is in no file any more: not at the owner, not at the reader, not at the hub's servers,
one of which was away and lost its folder before it came back, as docs/hub.md says.

A server clears its log of what is to be stored by itself, within three minutes: this test waits so long."""

import pathlib
import shutil

import conftest
import hearsay_wire as wire
import hub_cluster
from hearsay_wire import pb
from hub_cluster import wait_until
from hub_site import Site

pytestmark = hub_cluster.needs_hub


def test_a_withdrawn_text_is_in_no_file(make_daemon, rng):
    marker = rng.randbytes(24).hex().encode()
    hub = hub_cluster.Hub(conftest.storage_root(), {"ap1": "campus"})
    sites = []
    try:
        hub.start().wait_ready().make_streams()
        hub.wait_current()
        sites = [Site(hub, make_daemon, "ap1", {"ap1": "owner"}),
                 Site(hub, make_daemon, "reader", {"ap1": "replica"})]
        owner, reader = [site.start() for site in sites]
        token = rng.randbytes(32)
        one = wire.deposit_of(rng, ["topic:jazz"], payload=marker,
                              withdraw_hash=wire.withdraw_hash(token))

        def traces():
            folders = [hub.directory, *(path for site in sites for path in (site.daemon.data, site.folder))]
            return [path for folder in folders for path in pathlib.Path(folder).rglob("*")
                    if path.is_file() and marker in hub_cluster.read_bytes(path)]

        with owner.daemon.administrator() as client:
            client.call(one)
            wait_until(lambda: reader.exported("ap1"), "the copy")
            places = {str(path) for path in traces()}
            assert sum("/streams/" in place for place in places) == 3, places
            away = hub.nodes["n3"]
            away.kill()
            hub.wait_ready()
            client.call(pb.Withdraw(host="ap1", id=one.id, token=token))
        wait_until(lambda: not reader.exported("ap1"), "the withdrawal")
        wait_until(lambda: not any("/streams/" in str(path) and not str(path).startswith(away.store)
                                   for path in traces()), "no trace in the streams", 3 * wire.PATIENCE)
        assert any(str(path).startswith(away.store) for path in traces()), "the server was away"
        shutil.rmtree(away.store)
        away.start()
        hub.wait_ready().wait_current()
        wait_until(lambda: not traces(), f"no trace: {traces()}", 400 * wire.SLOWNESS)
        for site in sites:
            site.stop()
    finally:
        for site in sites:
            site.remove()
        hub.remove()
