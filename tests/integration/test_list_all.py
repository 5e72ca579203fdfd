# SPDX-License-Identifier: Apache-2.0
"""All messages of a board, page by page: what an operator sees that nobody has reported."""

import cli_runner
import hearsay_wire as wire
from hearsay_wire import pb
from test_moderation import LABELS, From, daemon_with, leave

COUNT = 3000
PAGE = 20


def page_of(client, cursor=b"", limit=PAGE):
    fields = {"after": cursor} if cursor else {}
    return client.call(pb.Reported(all=True, limit=limit, **fields))


def ids(page):
    return [message.id for message in page.messages]


def fill(client, rng, count=COUNT):
    """Leaves so many messages; their ids, the newest first."""
    made = [wire.deposit_of(rng, LABELS, payload=b"message %d" % number) for number in range(count)]
    for start in range(0, count, 500):
        for answer in client.pipeline(made[start:start + 500]):
            assert answer.WhichOneof("body") == "deposited", answer
    return [one.id for one in reversed(made)]


def test_thousands_of_messages(make_daemon, rng):
    """Each is on one page, the newest first, though messages come, go and are hidden meanwhile."""
    daemon = make_daemon("[limits]\nmessages = 20000\nbytes = 32M\n[host default]\nmessages = 20000\nbytes = 32M\n"
                         "remove_after = 0\n")
    with daemon.administrator() as client:
        expected = fill(client, rng)
        seen, cursor, back, gone = [], b"", [], set()
        while True:
            page = page_of(client, cursor)
            assert len(page.messages) == PAGE or not page.next
            seen += ids(page)
            if cursor:
                back.append(page.previous)
            cursor = page.next
            if not cursor:
                break
            leave(client, rng)
            if len(back) % 10 == 0:  # the one that the cursor names, and others ahead of it
                ahead = expected.index(seen[-1])
                for message in (seen[-1], *expected[ahead + 3:ahead + 5]):
                    client.call(pb.Remove(id=message))
                    gone.add(message)
                client.call(pb.Hide(id=expected[ahead + 7]))
        assert len(seen) == len(set(seen))
        missed = set(expected) - set(seen)
        assert missed <= gone and not set(seen) - set(expected), "what is new comes before the first page"
        assert [one for one in expected if one in set(seen)] == seen

        page = page_of(client, back[-1])  # and all the way back to what is new
        newer = [ids(page)]
        while page.previous:
            page = page_of(client, page.previous)
            newer.append(ids(page))
        returned = [message for one in reversed(newer) for message in one]
        assert len(returned) == len(set(returned))
        left = [message for message in seen if message not in gone]
        last = len(page_of(client, page_of(client, back[-1]).next).messages)
        assert [one for one in returned if one in set(left)] == left[:-last]
        assert len(returned) > len(left) - PAGE, "those that came meanwhile are there, too"


def test_what_all_is(make_daemon, rng):
    """What guests see, and what is hidden or waits, marked; removed ones not. Over a restart."""
    daemon = daemon_with(make_daemon, "[host default]\nhide_after = 2\n[host other]\n")
    with daemon.administrator() as client:
        plain, told, hidden, withheld, removed = (leave(client, rng) for _ in range(5))
        elsewhere = leave(client, rng, host="other")
        senders = From(daemon)
        senders.report(1, told.id, kind="SPAM", reason="an advert")
        senders.report(1, hidden.id)
        senders.report(2, hidden.id)
        client.call(pb.Hide(id=withheld.id))
        client.call(pb.Remove(id=removed.id))
        client.call(pb.Accept(mode="review"))
        pending = leave(client, rng)
    with daemon.administrator() as client:
        page = page_of(client)
        assert ids(page) == [pending.id, withheld.id, hidden.id, told.id, plain.id]
        assert [(one.hidden, one.pending, one.reports) for one in page.messages] == [
            (True, True, 0), (True, False, 0), (True, False, 2), (False, False, 1), (False, False, 0)]
        assert [one.text for one in page.messages[3].reasons] == ["an advert"]
        assert page.messages[4].payload == plain.payload and page.messages[4].expires_ms > 0
        assert not page.next and not page.previous and page.total == 0
        assert ids(client.call(pb.Reported(all=True, host="other"))) == [elsewhere.id]
        client.call(pb.Restore(id=hidden.id))
        assert ids(page_of(client))[0] == hidden.id, "what is shown again counts as new"
        first = page_of(client, limit=2)
    daemon.restart()
    with daemon.administrator() as client:
        assert ids(page_of(client)) == [hidden.id, pending.id, withheld.id, told.id, plain.id]
        assert ids(page_of(client, first.next)) == [withheld.id, told.id, plain.id]


def test_pages_fit_a_frame(make_daemon, rng):
    """Long texts and long reasons: no page is larger than a frame, and no text is left out."""
    daemon = daemon_with(make_daemon, "[limits]\nframe = 8K\npayload = 4K\n[host default]\nhide_after = 100\n")
    with daemon.administrator() as client:
        sent = [leave(client, rng, payload=rng.randbytes(3000)) for _ in range(30)]
        for one in sent[10:20]:
            for number in range(1, 5):
                From(daemon).report(number, one.id, kind="SPAM", reason="r" * 1000)
        seen, cursor = [], b""
        while True:
            page = page_of(client, cursor, limit=0)
            assert all(len(one.payload) == 3000 for one in page.messages)
            seen += ids(page)
            cursor = page.next
            if not cursor:
                break
        assert seen == [one.id for one in reversed(sent)]


def test_only_for_the_operator(make_daemon):
    daemon = make_daemon()
    with daemon.client() as client:
        assert client.refused(pb.Reported(all=True)).code == "FORBIDDEN"
    with daemon.administrator() as client:
        for fields, field in (({"all": True, "pending": True}, "all"), ({"all": True, "withheld": True}, "all"),
                              ({"all": True, "after": b"abc"}, "after"), ({"after": b"o" + bytes(8)}, "after")):
            refusal = client.refused(pb.Reported(**fields))
            assert (refusal.code, refusal.error.field) == ("INVALID", field), fields


# --- the command line -----------------------------------------------------------------------------


def test_list_all(make_daemon, rng):
    """All pages one after the other, or the newest --count; each with its id."""
    daemon = make_daemon("[host default]\nmessages = 2000\n")
    cli = cli_runner.of_daemon(daemon, unix=True)
    assert cli.ok("admin", "list", "--all") == "there are no messages\n"
    with daemon.administrator() as client:
        expected = [one.hex() for one in fill(client, rng, 300)]
        client.call(pb.Hide(id=bytes.fromhex(expected[1])))
    lines = cli.json_lines("admin", "list", "--all", "--json")
    assert [line["id"] for line in lines] == expected
    assert [line["hidden"] for line in lines[:3]] == [False, True, False]
    for count in (1, 20, 128, 129, 300, 1000):
        lines = cli.json_lines("admin", "list", "--all", "--count", str(count), "--json")
        assert [line["id"] for line in lines] == expected[:count]
    text = cli.ok("admin", "list", "--all", "-k", "2").splitlines()
    assert text[0].startswith(f"{expected[0]}  ") and text[0].endswith("  shown")
    assert text[1] == "    message 299" and text[2].endswith("  hidden") and len(text) == 4
    code, out, err = cli.run("admin", "list", "--all", "--hidden")
    assert (code, out) == (2, "") and "--reported, --pending, --hidden and --all are different lists" in err


def test_pasted_links(make_daemon, rng):
    """Wherever a command takes an id, it takes the address that a browser copies."""
    daemon = make_daemon("[host default]\nhide_after = 0\n")
    cli, reader = cli_runner.of_daemon(daemon, unix=True), cli_runner.of_daemon(daemon)
    token = rng.randbytes(32)
    with daemon.administrator() as client:
        message = leave(client, rng, payload=b"text", withdraw_hash=wire.withdraw_hash(token)).id.hex()
    links = [f"/m/{message}", f"/m/{message}?p=default&o=new", f"http://hearsay.lan/m/{message}?p=2",
             f"https://192.168.8.1:8443/m/{message}#answer", f"HTTP://Hearsay.Lan/m/{message.upper()}",
             f"hearsay.lan/m/{message}?p=2", f"http://[fd00::1]/m/{message}", message]
    for link in links:
        assert reader.ok("get", link) == "text", link
        assert cli.ok("admin", "hide", link) == "hidden\n", link
        assert cli.ok("admin", "restore", link) == "shown\n", link
        assert reader.ok("report", link) == "reported\n", link
    assert cli.ok("admin", "remove", links[1]).startswith("removed")
    assert cli.ok("admin", "restore", links[2]) == "shown\n"
    for wrong in (f"http://hearsay.lan/{message}", f"http://hearsay.lan/about?id={message}", "http://hearsay.lan/",
                  f"/m/{message}0", f"/m/{message[:-1]}", f"/m/{message}/", f"/m/?{message}", "/m/", "/m",
                  f"http://hearsay.lan/x/m/{message}", f"/x/m/{message}", f"?/m/{message}", f"{message}?p=2",
                  f"ftp://hearsay.lan/m/{message}", f"m/{message}", f"/m/{message[:-1]}g", "", "x" * 3000):
        commands = [("get", wrong)]
        if wrong == f"/m/{message}0":
            commands += [("admin", "hide", wrong), ("admin", "remove", wrong), ("admin", "restore", wrong),
                         ("report", wrong), ("withdraw", wrong, token.hex())]
        for command in commands:
            code, out, err = cli.run(*command)
            assert (code, out) == (2, ""), command
            assert "is not a message's id, 32 hexadecimal digits, nor the address of its page, such as " \
                   "http://hearsay.lan/m/ID" in err, command
    assert reader.run("withdraw", links[3], token.hex())[0] == 0
    assert reader.run("get", message)[0] == 1


PLACES = {"Main stage": ["place:stage", "geo:u281zd"], "Camp site": ["place:camp", "geo:u281zd"],
          "By air": ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04"]}


def make_places(make_daemon, tmp_path, config=""):
    path = tmp_path / "places"
    path.write_text("".join(f"10.0.0.{number} = {', '.join(labels)} | {name}\n"
                            for number, (name, labels) in enumerate(PLACES.items())))
    return make_daemon("[limits]\ndeposits_per_minute = 0\n[host default]\n"
                       f"here_map = {path}\n{config}", start=False).make_local().start()


def whole(client, place, **fields):
    """All messages of a list of a place, and how many pages were empty before the last one."""
    found, empty, cursor = [], 0, {}
    while True:
        page = client.call(pb.Reported(place=place, **fields, **cursor))
        assert not page.total and len(page.messages) <= fields.get("limit", 128)
        found += ids(page)
        if not page.next:
            return found, empty
        empty += not page.messages
        cursor = {"after": page.next}


def test_one_place(make_daemon, tmp_path, rng):
    """The lists of a place have what was left there, also where thousands lie between, and nothing else."""
    daemon = make_places(make_daemon, tmp_path, "messages = 20000\nhide_after = 100\n")
    with daemon.administrator() as client:
        left = {name: [] for name in PLACES}

        def put(name, count=1, extra=(), **fields):
            made = [wire.deposit_of(rng, [*PLACES[name], *extra], **fields) for _ in range(count)]
            for answer in client.pipeline(made):
                assert answer.WhichOneof("body") == "deposited", answer
            left[name] += [one.id for one in made]

        put("Main stage", 3, extra=["topic:tea"])
        put("Camp site", 700)
        put("Main stage", 2)
        made = wire.deposit_of(rng, PLACES["By air"][1:])  # one label of an access point is enough
        client.call(made)
        left["By air"].append(made.id)
        answered = left["Main stage"][0]
        answer = wire.deposit_of(rng, ["topic:tea"], answers=answered)
        client.call(answer)
        left["Main stage"].append(answer.id)
        for name in PLACES:
            for limit in (1, 20, 128):
                assert whole(client, name, all=True, limit=limit) == (left[name][::-1], 0), (name, limit)
        # What lies behind the 700 of another place comes with the next page; and back again.
        first = client.call(pb.Reported(all=True, place="Main stage", limit=4))
        assert ids(first) == left["Main stage"][:2:-1]
        older = client.call(pb.Reported(all=True, place="Main stage", limit=4, after=first.next))
        assert ids(older) == left["Main stage"][2::-1]
        newer = client.call(pb.Reported(all=True, place="Main stage", limit=4, after=older.previous))
        assert ids(newer) == ids(first)
        for name in PLACES:
            for message in left[name][:300]:
                client.call(pb.Report(id=message, kind=pb.SPAM))
        for name in PLACES:
            found, empty = whole(client, name, limit=20)
            assert sorted(found) == sorted(left[name][:300]) and not empty, name
        client.call(pb.Hide(id=left["Camp site"][5]))
        assert whole(client, "Camp site", withheld=True)[0] == [left["Camp site"][5]]
        assert whole(client, "Main stage", withheld=True)[0] == []
        client.call(pb.Hide(id=answered))
        assert sorted(whole(client, "Main stage", withheld=True)[0]) == sorted([answered])
        client.call(pb.Accept(mode="review"))
        put("Camp site")
        assert whole(client, "Camp site", pending=True)[0] == left["Camp site"][-1:]
        for place in ("Main", "main stage"):
            refusal = client.refused(pb.Reported(place=place, all=True))
            assert (refusal.code, refusal.error.field) == ("INVALID", "place")
    operator = cli_runner.of_daemon(daemon, unix=True)
    found = operator.json_lines("admin", "list", "--all", "--place", "By air", "--json")
    assert [line["id"] for line in found] == [left["By air"][0].hex()]
    assert operator.ok("admin", "list", "--pending", "--place", "By air") == "nothing waits for review\n"
    code, _, err = operator.run("admin", "list", "--place", "Bar")
    assert code != 0 and "no line of `here_map` has this name" in err


def test_one_place_in_epochs(make_daemon, tmp_path, rng):
    """The labels are keyed for an epoch, and the server has its key."""
    daemon = make_places(make_daemon, tmp_path, "epoch_length = 1h\nepoch_keep = 2h\n")
    with daemon.administrator() as client, daemon.client() as guest:
        epoch = guest.welcome.hosts[0].epoch
        assert len(epoch.key) == 32
        stage, camp = (pb.Deposit(id=wire.new_id(rng), payload=b"x", epoch=epoch.number,
                                  filter=wire.filter_of(PLACES[name], keys=[epoch.key]))
                       for name in ("Main stage", "Camp site"))
        plain = wire.deposit_of(rng, PLACES["Main stage"])
        for one in (stage, camp, plain):
            client.call(one)
        assert whole(client, "Main stage", all=True)[0] == [plain.id, stage.id]
        assert whole(client, "Camp site", all=True)[0] == [camp.id]
