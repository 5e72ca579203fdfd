# SPDX-License-Identifier: Apache-2.0
"""Bridges of a neighbourhood before a hub of three real servers: what they tell one another."""

import contextlib
import re

import hearsay_wire as wire
import hub_cluster
from hearsay_wire import pb
from hood_sites import HOOD, Ear, deposit, hub, letters, make_site, metrics  # noqa: F401
from hub_cluster import wait_until

pytestmark = hub_cluster.needs_hub
NOTHING = wire.group_of(bytes(64))


def cover(words, deposits):
    """Whether the last full word and those after it cover all deposits, each naming the one before."""
    last = max(i for i, word in enumerate(words) if word.full)
    told = words[last:]
    for before, word in zip(told, told[1:]):
        assert word.after == before.seq and word.seq >= before.seq, (before.seq, word)
    groups = [group for word in told for group in word.groups]
    return all(any(wire.covers(group, one.filter) for group in groups) for one in deposits)


def test_a_host_tells_what_it_has(make_site, hub, rng):  # noqa: F811
    """A full word at the beginning, a delta for each new message that it does not cover, and full again."""
    site = make_site("ap1")
    before = deposit(site, rng, 100)
    with Ear(hub, "ap9") as ear:
        site.start()
        first = ear.word("ap1")
        assert first.full and 0 < len(first.groups) <= 32 and first.profile == wire.PROFILE
        with site.daemon.client() as client:
            assert first.store_id == client.welcome.store_id
        assert cover([first], before)
        words = [first]
        for _ in range(12):
            new = deposit(site, rng, 1)
            began = len(words)
            while not cover(words, new):
                words.append(ear.word("ap1"))
            if len(words) > began:
                assert not words[-1].full and len(words[-1].groups) == 1
            before += new
        assert cover(words, before)
        while sum(not word.full and len(word.groups) for word in words) < 17 and not any(w.full for w in words[1:]):
            before += deposit(site, rng, 1)
            with contextlib.suppress(hub_cluster.NoAnswer):
                words.append(ear.word("ap1", seconds=0.3))
        while not (any(word.full for word in words[1:]) and cover(words, before)):
            words.append(ear.word("ap1"))
    assert metrics(site)["summaries_full_total"] >= 2
    assert max(map(len, site.bridge.status().splitlines())) <= 60


def test_a_host_tells_nothing_before_it_has_its_messages_back(make_site, hub, rng, monkeypatch):  # noqa: F811
    """Its neighbours would take a part for all it has, and say `complete` without what comes back later. A new store
    waits for a reader for one interval of heads."""
    monkeypatch.setenv("HEARSAY_BRIDGE_HEAD_MS", "3000")
    site = make_site("ap5")
    before = deposit(site, rng, 3)
    with Ear(hub, "ap9") as ear:
        site.start()
        first = ear.word("ap5")
        with site.daemon.client() as client:
            assert client.welcome.hosts[0].role == pb.OWNER
        assert cover([first], before)


def test_a_covered_message_is_told_by_its_time(make_site, hub, rng):  # noqa: F811
    """A message that the groups cover needs no delta: a word has its time, at most a second after the word before.

    The changes may be asked for in the same millisecond as the groups: `as_of_ms` grows with a later word then.
    """
    site = make_site("ap2")
    (first,) = deposit(site, rng, 1)
    with Ear(hub, "ap9") as ear:
        site.start(keepalive_ms=200)
        word = ear.word("ap2")
        assert word.full and cover([word], [first])
        again = pb.Deposit(id=wire.new_id(rng), filter=first.filter, payload=b"again", host="ap2")
        with site.daemon.client() as client:
            when = client.call(again).deposited_ms
        words = [word]
        while words[-1].newest_ms != when:
            words.append(ear.word("ap2"))
        assert not words[-1].groups and not words[-1].full
        assert cover(words, [again])
        assert words[-1].as_of_ms >= word.as_of_ms
        while words[-1].as_of_ms == word.as_of_ms:
            words.append(ear.word("ap2"))


def test_a_full_word_comes_on_request(make_site, hub, rng):  # noqa: F811
    """For one host soon. For all a word at once that the host is there, and a full one later: neighbours
    that begin one after another share it."""
    site = make_site("ap3")
    deposit(site, rng, 3)
    with Ear(hub, "ap9") as ear:
        site.start(keepalive_ms=6000)  # so 2 s, not 10, between two full words for all
        assert ear.word("ap3").full
        ear.ask_summary("ap3")
        wait_until(lambda: ear.word("ap3").full, "a full word")
        wait_until(lambda: metrics(site)["summaries_full_total"] >= 3, "those of its beginning")
        ear.nats.flush()
        ear.nats.waiting.clear()  # words of before
        began, words = metrics(site), []
        for _ in range(200):
            ear.ask_summary("")
            ear.ask_summary("ap4")
        while not (words and words[-1].full):
            words.append(ear.word("ap3"))
        assert len(words) <= 6 * wire.SLOWNESS
        ended = metrics(site)
    assert ended["summaries_full_total"] - began["summaries_full_total"] <= 3
    assert ended["summaries_full_total"] <= 10


def test_neighbours_know_one_another(make_site, hub, rng):  # noqa: F811
    """Also after one of them was killed, and after it has lost its store."""
    sites = [make_site(name, start=True) for name in ("ap1", "ap2", "ap3")]
    for site in sites:
        wait_until(lambda s=site: metrics(s).get("peers") == 2, "two neighbours")
    sites[0].bridge.kill()
    deposit(sites[0], rng, 5)
    sites[0].start()
    wait_until(lambda: metrics(sites[0]).get("peers") == 2, "two neighbours again")
    assert f"hood {HOOD}" in re.sub(" +", " ", sites[0].bridge.status())
    assert "knows 2 other hosts" in sites[0].bridge.status()


def test_another_profile_is_counted(make_site, hub):  # noqa: F811
    """Hosts with another profile belong to the hood, and are not asked."""
    here = make_site("ap1", start=True)
    make_site("ap2", host_lines="profile = v2:256/4\n", start=True)
    make_site("ap3", start=True)
    wait_until(lambda: (metrics(here).get("peers"), metrics(here).get("peers_other")) == (1, 1), "both kinds")
    assert "1 have another profile" in here.bridge.status()


def test_a_host_without_a_feed(make_site, hub, rng):  # noqa: F811
    """`replicate = no`: its neighbours do not find it, and log and status say what to do."""
    site = make_site("ap4", replicate="no", start=True)
    site.bridge.wait_log("its neighbours do not find it: .*`replicate = yes`")
    assert "replicate" in site.bridge.status()
    assert metrics(site)["summaries_delta_total"] == 0


def test_wrong_words_change_nothing(make_site, hub, rng):  # noqa: F811
    """Words that are no words; groups of another length, or without the ranges of each section; too many; of a
    host that is not the sender's."""
    site = make_site("ap1", start=True)
    with Ear(hub, "ap9") as ear:
        ear.tell("ap9", full=True, seq=1, groups=[NOTHING])
        wait_until(lambda: metrics(site).get("peers") == 1, "the neighbour")
        voids = metrics(site)["peer_summaries_void_total"]
        ear.send("ap9", b"")
        ear.send("ap9", rng.randbytes(300))
        ear.send("ap9", letters.Letter(version=2).SerializeToString())
        ear.tell("ap9", full=True, seq=2, groups=[NOTHING] * 65)
        ear.tell("ap9", full=True, seq=3, store_id=b"short")
        ear.tell("ap8", full=True, seq=4)  # the hub refuses it
        ear.tell("ap9", full=True, seq=5, groups=[pb.SummaryGroup(union_filter=bytes(63), least=[0, 0], most=[0, 0])])
        wait_until(lambda: metrics(site)["peer_summaries_void_total"] == voids + 1, "the word that does not fit")
        assert ear.requests("ap9")  # its full summary is asked for
        ear.tell("ap9", full=True, seq=6, groups=[NOTHING])
        ear.tell("ap9", seq=8, after=7)
        wait_until(lambda: metrics(site)["peer_summaries_void_total"] == voids + 2, "the lost word")
        for n, (least, most) in enumerate([([0], [512]), ([0, 0], [320, 193]), ([9, 0], [8, 0])]):
            ear.tell("ap9", full=True, seq=9 + n,
                     groups=[pb.SummaryGroup(union_filter=bytes(64), least=least, most=most)])
        wait_until(lambda: metrics(site)["peer_summaries_void_total"] == voids + 5, "the wrong ranges")
    assert metrics(site)["peers"] == 1
