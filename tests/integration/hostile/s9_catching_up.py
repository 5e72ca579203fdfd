# SPDX-License-Identifier: Apache-2.0
"""S9: one watch from number 0 that any message fits, with payloads, reads the whole store. It costs
as much as asking for the same would: a token for each page."""

import devices
import hearsay_wire as wire
import many
from hearsay_wire import pb

MESSAGES, PAGE = 3_000, 64
BURST = 16
# A bucket that hardly regains anything.
CONFIG = f"durability = relaxed\n[limits]\nqueries_per_minute = 1\nquery_burst = {BURST}\n"
# The connection, the watch, and a quarter of the burst that is left to other requests.
PAGES = BURST - 1 - 1 - BURST // 4
K_MAX = 100


def figure(client, name):
    return next(f.value for f in client.call(pb.Stats()).figures if f.name == name)


def watch_all(crowd):
    query = pb.Query(parts=[pb.QueryPart(filter=crowd.filter())], with_payload=True)
    return pb.Watch(query=query, after_seq=0)


def test_a_watch_reads_no_more_than_it_pays_for(make_daemon):
    daemon, address, _ = devices.limited(make_daemon, CONFIG)
    crowd = many.Crowd()
    with wire.Client(daemon.socket_path) as administrator, \
            wire.Client(address, source=devices.DEVICES[0]) as attacker:
        crowd.load(administrator, MESSAGES)
        attacker.call(watch_all(crowd))
        matches = len(attacker.pushes)
        while matches < PAGES * PAGE:
            assert attacker.receive().HasField("match")
            matches += 1
        for _ in range(50):  # each is answered in a later turn, in which pages might be read
            attacker.pushes = []
            attacker.call(pb.Ping())
            figure(administrator, "watches_catching_up")
            matches += len(attacker.pushes)
        # A minute may have brought a token.
        assert matches <= (PAGES + 1) * PAGE
        assert matches <= K_MAX * (BURST + 1), "asking brings k_max messages a token"
        assert figure(administrator, "watches_catching_up") == 1
        # The quarter that is left pays for requests, so the client is not shut out meanwhile.
        assert attacker.call(pb.Summary()).count == MESSAGES
        assert not attacker.pushes


def test_many_watches_hold_no_pages(make_daemon, sanitized):
    """900 watches that have no tokens for a page take little more memory than those that read none:
    512 bytes each at most, and not a page."""
    daemon = make_daemon("durability = relaxed\nlisten = 127.0.0.2:0 limited\n"
                         "[limits]\nqueries_per_minute = 1\nquery_burst = 64\n")
    address = ("127.0.0.2", int(daemon.find_log(r"listening on 127\.0\.0\.2:(\d+)").group(1)))
    crowd = many.Crowd()
    clients = []

    def growth(network, after_seq):
        before = figure(administrator, "resident_bytes")
        for n in range(60):
            client = wire.Client(address, source=f"127.0.{network}.{n + 1}")
            clients.append(client)
            asked = watch_all(crowd)
            asked.query.with_payload = False
            if after_seq is None:
                asked.ClearField("after_seq")
            # 16 tokens are left, the quarter that is not for pages.
            client.pipeline([pb.Summary()] * (64 - 1 - 16))
            assert all(answer.HasField("watching") for answer in client.pipeline([asked] * 15))
        return figure(administrator, "resident_bytes") - before

    with wire.Client(daemon.socket_path) as administrator:
        crowd.load(administrator, 500)
        growth(1, None)  # buffers have their size now
        plain, catching = growth(2, None), growth(3, 0)
        assert figure(administrator, "watches_catching_up") == 60 * 15
    for client in clients:
        client.close()
    assert catching - plain <= 60 * 15 * 512 or sanitized


def test_who_is_exempt_catches_up_at_once(make_daemon):
    daemon, _, _ = devices.limited(make_daemon, CONFIG)
    crowd = many.Crowd()
    with wire.Client(daemon.socket_path) as administrator:
        crowd.load(administrator, MESSAGES)
        administrator.call(watch_all(crowd))
        for _ in range(MESSAGES - len(administrator.pushes)):
            assert administrator.receive().HasField("match")
