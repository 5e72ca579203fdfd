# SPDX-License-Identifier: Apache-2.0
"""The page for phones: what phones do with it, and what it tells them."""

import datetime
import html
import json
import os
import re
import socket
import subprocess
import time
import urllib.parse

import pytest

import conftest
import hearsay_wire as wire
from hearsay_wire import pb
from test_gateway import make_gateway, open_folder  # noqa: F401 (fixtures)
from web_runner import Web, NAME, fields_of, make_web  # noqa: F401 (a fixture)


def id_of(left):
    """Of the message that was left."""
    assert left.status == 200, left.text
    return fields_of(left.text, "/withdraw")["id"]


def test_one_phone_has_a_share_of_the_first_page(make_web):
    """40 messages of one phone leave 14 of 20 places to the others, who wait; all are on some page."""
    web = make_web(daemon="[limits]\ndeposits_per_minute = 0\n")
    honest = {f"honest {number}." for number in range(20)}
    for number, text in enumerate(sorted(honest)):
        assert web.leave(text, source=f"127.0.2.{number + 1}").status == 200
    crowd = {f"crowd {number}." for number in range(40)}
    for text in sorted(crowd):
        assert web.leave(text, source="127.0.3.1").status == 200
    seen, page = [], web.get(source="127.0.4.1").text
    while page is not None and len(seen) < 9:
        seen.append(set(re.findall(r">((?:honest|crowd) \d+\.)</a>", page)))
        older = re.search(r'rel="next" href="([^"]+)"', page)
        page = older and web.get(older[1].replace("&amp;", "&"), source="127.0.4.1").text
    assert len(seen[0]) == 20 and len(seen[0] & honest) >= 14
    assert set().union(*seen) >= honest
    assert len(set().union(*seen) & crowd) >= 30


def test_two_phones_see_each_other(make_web):
    web = make_web("cache = 0\n")
    assert "number one" not in web.get().text
    left = web.leave("number one <b>message</b>", source="127.0.0.7")
    assert left.status == 200
    page = web.get(source="127.0.0.8").text
    assert "number one &lt;b&gt;message&lt;/b&gt;" in page and "<b>message" not in page
    assert web.leave("the second one", source="127.0.0.8").status == 200
    page = web.get(source="127.0.0.7").text
    assert page.index("the second one") < page.index("number one")


def test_a_message_is_withdrawn(make_web):
    web = make_web("cache = 0\n")
    left = web.leave("to be taken back")
    fields = fields_of(left.text, "/withdraw")
    assert len(fields["code"]) == 26
    wrong = web.post("/withdraw", {**fields, "code": "A" * 26})
    assert wrong.status == 403
    again = fields_of(wrong.text, "/withdraw")  # the form is there again, with what was typed
    assert again["id"] == fields["id"] and "A" * 26 + "</textarea>" in wrong.text
    assert "to be taken back" in wrong.text
    assert web.get("/m/" + fields["id"]).status == 200
    assert web.post("/withdraw", fields).status == 200
    assert "to be taken back" not in web.get().text
    assert web.get("/m/" + fields["id"]).status == 404


@pytest.mark.parametrize("daemon", ["", "[host default]\nprofile = v2:place=57/7,topic=7/1\n"])
def test_messages_are_answered(make_web, daemon):
    """Below the message, the oldest first; counted in the list, and in it nowhere else."""
    web = make_web("cache = 0\n", daemon)
    parent = fields_of(web.leave("who has a ladder?").text, "/withdraw")["id"]
    assert "answer</b>" not in web.get().text
    left = web.answer(parent, "I <b>have</b> one", source="127.0.0.7")
    assert left.status == 200 and f'href="/m/{parent}' in left.text
    first = fields_of(left.text, "/withdraw")
    assert "1 answer</b>" in web.get().text
    assert web.answer(parent, "me, too", source="127.0.0.8").status == 200
    board = web.get().text
    assert "2 answers</b>" in board and "me, too" not in board
    assert "2 Antworten</b>" in web.get("/?l=de").text
    assert "\u0631\u062f\u0651\u0627\u0646</b>" in web.get("/?l=ar").text
    page = web.get("/m/" + parent).text
    assert page.index("I &lt;b&gt;have&lt;/b&gt; one") < page.index("me, too")
    own = web.get("/m/" + first["id"]).text
    assert f'href="/m/{parent}' in own and 'name="re"' not in own  # no answers to answers
    empty = web.answer(parent, " ")
    assert empty.status == 400 and fields_of(empty.text, "/leave")["re"] == parent
    forged = fields_of(web.get("/m/" + parent).text, "/leave")
    assert web.post("/leave", {**forged, "text": "x", "re": "no id"}).status == 400
    late = web.post("/leave", {**forged, "text": "kept words", "re": "0" * 32})
    assert late.status == 404 and "kept words" in late.text
    assert web.post("/withdraw", first, source="127.0.0.7").status == 200
    assert "1 answer</b>" in web.get().text
    assert "I &lt;b" not in web.get("/m/" + parent).text


def test_open_pages_are_told_of_answers(make_web, rng):
    """All alike, and only how many there are; the page of the message has the words for its script."""
    web = make_web("cache = 0\n")
    parent = fields_of(web.leave("who has a ladder?").text, "/withdraw")["id"]
    page = web.get("/m/" + parent).text
    assert '<section data-answers="0" hidden>\n<h2>Answers</h2>' in page and 'data-new-one="{0} new answer"' in page
    streams = [web.events(source=source) for source in ("127.0.0.1", "127.0.0.9")]
    left = fields_of(web.answer(parent, "I have one", source="127.0.0.7").text, "/withdraw")
    told = {"event": "answers", "data": {parent: 1}}

    def next_of(stream):
        """The message itself may come before: it is as new as the stream."""
        event = stream.next()
        return stream.next() if event["event"] == "message" else event

    assert [next_of(stream) for stream in streams] == [told, told]
    assert '<section data-answers="1">\n<h2>Answers</h2>' in web.get("/m/" + parent).text
    later = web.events()
    assert next_of(later) == told
    assert web.post("/withdraw", left, source="127.0.0.7").status == 200
    for stream in (*streams, later):
        assert stream.next() == {"event": "answers", "data": {parent: 0}}
        stream.close()
    own = web.get("/m/" + left["id"])
    assert own.status == 404 and "<section" not in own.text

    with web.gateway.daemon.client() as client:  # a sealed answer is counted, though the page cannot show it
        client.call(wire.deposit_of(rng, ["place:a"], payload=bytes(64), answers=bytes.fromhex(parent),
                                    media_type="application/vnd.hearsay.sealed"))
    page = web.get("/m/" + parent).text
    assert '<section data-answers="1" hidden>\n' in page


def test_a_removed_message_says_so(make_web):
    """In each language, also after a restart of hearsayd, until its id is free again."""
    web = make_web("cache = 0\n")
    ids = [fields_of(web.leave(text).text, "/withdraw")["id"] for text in ("rude", "also rude")]
    assert web.get("/m/" + ids[0]).status == 200  # is in the cache
    with web.gateway.daemon.administrator() as operator:
        for one in ids:
            operator.call(wire.pb.Remove(id=bytes.fromhex(one)))
    for _ in range(2):
        for one in ids:
            page = web.get("/m/" + one)
            assert page.status == 410 and "Removed by the operator" in page.text
        assert "Vom Betreiber entfernt" in web.get(f"/m/{ids[0]}?l=de").text
        assert "\u0623\u0632\u0627\u0644\u0647\u0627 \u0627\u0644\u0645\u0634\u063a\u0651\u0644" in web.get(f"/m/{ids[0]}?l=ar").text
        web.gateway.daemon.stop()
        web.wait_healthy(503)
        web.gateway.daemon.restart()
        web.wait_healthy()
    assert web.get("/m/" + 32 * "0").status == 404


def test_a_double_tap_is_one_message(make_web):
    """A second tap, and a reload of the answer, send the same form again."""
    web = make_web("cache = 0\n")
    form = {**web.form(), "text": "only once"}
    answers = [web.post("/leave", form) for _ in range(3)]
    assert {answer.status for answer in answers} == {200}
    codes = {fields_of(answer.text, "/withdraw")["code"] for answer in answers}
    assert len(codes) == 1
    assert web.get().text.count("only once") == 1
    # Withdrawn, a reload of the answer does not bring it back.
    assert web.post("/withdraw", fields_of(answers[0].text, "/withdraw")).status == 200
    again = web.post("/leave", form)
    assert again.status == 403 and "only once" in again.text
    assert "only once" not in web.get().text


def test_reports_of_phones_hide(make_web):
    """Each phone counts as one reporter, as if it had come to port 7117 itself."""
    web = make_web("cache = 0\n", "[host default]\nhide_after = 2\n")
    message = fields_of(web.leave("spam, spam", source="127.0.0.9").text, "/withdraw")["id"]
    for source in ("127.0.0.7", "127.0.0.7", "127.0.0.8"):
        assert "spam, spam" in web.get(source=source).text
        fields = fields_of(web.get("/m/" + message, source=source).text, "/report")
        answer = web.post("/report", {**fields, "why": "spam", "text": "again"}, source)
        assert answer.status == 200, answer.text
    assert "spam, spam" not in web.get().text


def test_forms_of_others_keep_the_text(make_web):
    web = make_web()
    form = {**web.form("127.0.0.7"), "text": "typed with love"}
    for options in ({"source": "127.0.0.8"},
                    {"source": "127.0.0.7", "origin": "http://evil.example"},
                    {"source": "127.0.0.7", "origin": "null"}):
        answer = web.post("/leave", form, **options)
        assert answer.status == 403 and "typed with love" in answer.text
    fresh = {**fields_of(answer.text, "/leave"), "text": "typed with love"}
    assert web.post("/leave", fresh, source="127.0.0.7").status == 200
    assert web.post("/leave", form, source="127.0.0.7", Content_Type="text/plain").status == 400


def test_a_phone_moves_to_another_place(make_web):
    """Both places have the same name: a form of the one is not done at the other unasked."""
    before, now = make_web("cache = 0\n"), make_web("cache = 0\n")
    at_before = before.leave("at the first place").text
    message = fields_of(at_before, "/withdraw")
    report = fields_of(before.get("/m/" + message["id"]).text, "/report")
    form = {**before.form(), "text": "typed on the way", "t": "jazz"}
    moved = now.post("/leave", form)
    assert moved.status == 409 and "You have moved to another access point. Send again?" in moved.text
    assert "typed on the way" in moved.text and 'value="jazz"' in moved.text
    assert "typed on the way" not in now.get().text
    fresh = {**fields_of(moved.text, "/leave"), "text": "typed on the way"}
    assert fresh["place"] != form["place"] and fresh["id"] != form["id"]
    assert now.post("/leave", fresh).status == 200
    assert "typed on the way" in now.get().text and "typed on the way" not in before.get().text
    for path, fields, kept in (("/withdraw", message, message["code"]),
                               ("/report", {**report, "why": "spam", "text": "my words"},
                                "my words")):
        moved = now.post(path, fields)
        assert moved.status == 409 and "You have moved" in moved.text and kept in moved.text
    assert before.post("/withdraw", message).status == 200


def test_a_phone_moves_within_a_server(make_web, tmp_path):
    """One server tells many places apart by address (here_map); each is a place of its own."""
    places = tmp_path / "places"
    places.write_text("127.0.1.0/24 = place:one\n127.0.2.0/24 = place:two\n")
    web = make_web("cache = 0\n", f"[host default]\nhere_map = {places}\n")
    stream = web.events(source="127.0.1.7")
    left = web.leave("at one", source="127.0.1.7")
    at_one = stream.next()
    assert at_one["data"] == {"id": id_of(left)}
    stream.close()
    form = {**web.form("127.0.1.7"), "text": "on the way"}
    moved = web.post("/leave", form, source="127.0.2.7")
    assert moved.status == 409 and "You have moved to another access point" in moved.text
    assert "on the way" in moved.text
    fresh = {**fields_of(moved.text, "/leave"), "text": "on the way"}
    assert web.post("/leave", fresh, source="127.0.2.7").status == 200
    assert "on the way" not in web.get(source="127.0.1.7").text
    stream = web.events(source="127.0.2.7", Last_Event_ID=at_one["id"])
    assert stream.next()["event"] == "gone"
    stream.close()


def test_a_place_says_its_name(make_web, tmp_path):
    """Below the title, in the form and on the poster. Where the line has no name nothing is said, and a
    poster is only for a place that the operator has named."""
    places = tmp_path / "places"
    places.write_text("127.0.1.0/24 = place:one | Stage <1> & bar\n127.0.2.0/24 = place:two\n")
    web = make_web("cache = 0\n", f"[host default]\nhere_map = {places}\n")
    name = "Stage &lt;1&gt; &amp; bar"
    page = web.get(source="127.0.1.7").text
    assert f'</h1>\n<p class="where"><bdi>{name}</bdi></p>' in page
    assert f"Shown at <bdi>{name}</bdi>. Anybody on this WiFi can find it. It disappears by itself in" in page
    link = html.unescape(re.search('href="(/poster[^"]*)"', page)[1])
    assert "place=Stage" in link
    for source in ("127.0.2.7", "127.0.3.7"):
        page = web.get(source=source).text
        assert name not in page and "Shown at" not in page and 'class="where"' not in page
        assert "Everybody on this WiFi can read it." in page and "place=" not in page.split("<footer")[1]
        assert 'class="where"' not in web.get("/poster", source=source).text
        poster = web.get(link + "&l=de&and=ar", source=source)
        assert poster.status == 200 and f'<h1 class="where"><bdi>{name}</bdi></h1>' in poster.text
        choices = re.findall('href="(/poster[^"]*)"', poster.text)
        assert len(choices) >= 8 and all("place=Stage" in choice for choice in choices)
    for wrong in ("Stage", "free%20beer", "x" * 65, "%ff"):
        refused = web.get("/poster?place=" + wrong)
        assert refused.status == 404 and ">place<" in refused.text and "beer" not in refused.text
    places.write_text("127.0.1.0/24 = place:one | Main stage\n")
    wire.wait_until(lambda: "Main stage" in web.get(source="127.0.1.7").text, "the new name")
    assert web.get(link).status == 404


def test_a_notice_of_one_place(make_web, tmp_path):
    """It is on the page of that place and in the live stream of its pages, and not at another place."""
    places = tmp_path / "places"
    places.write_text("127.0.1.0/24 = place:main | Main stage\n127.0.2.0/24 = place:main | Bar\n"
                      "127.0.3.0/24 = place:main\n")
    web = make_web("cache = 0\n", f"[host default]\nhere_map = {places}\n")
    streams = {number: web.events(source=f"127.0.{number}.7") for number in (1, 2, 3)}
    said = {number: [] for number in streams}

    def wait_for(number, *texts):
        while said[number] != list(texts):
            said[number] = [one["text"] for one in streams[number].next()["data"]]

    with web.gateway.daemon.administrator() as operator:
        operator.call(pb.Notice(text="Leave the stage", place="Main stage"))
        wait_for(1, "Leave the stage")
        operator.call(pb.Notice(text="Water is free"))
        wait_for(1, "Leave the stage", "Water is free")
        wait_for(2, "Water is free")
        wait_for(3, "Water is free")
    for number, shown in ((1, True), (2, False), (3, False)):
        for path in ("/", "/list.json"):
            page = web.get(path, source=f"127.0.{number}.7").text
            assert "Water is free" in page and ("Leave the stage" in page) == shown, (number, path)
        streams[number].close()


def test_events_go_on_where_they_were(make_web):
    """At the same place nothing is missed or doubled; at another one the list is loaded again."""
    before, now = make_web(), make_web()
    stream = before.events()
    left = before.leave("the first")
    first = stream.next()
    assert first["event"] == "message" and first["data"] == {"id": id_of(left)}
    stream.close()
    ids = [id_of(before.leave(text)) for text in ("the second", "the third")]
    stream = before.events(Last_Event_ID=first["id"])
    assert [stream.next()["data"]["id"] for _ in range(2)] == ids
    stream.close()
    ids = []
    for stream in (now.events(Last_Event_ID=first["id"]), now.events("/events?last=" + first["id"])):
        assert stream.next()["event"] == "gone"
        ids.append(id_of(now.leave("of the other place")))
        there = stream.next()
        assert there["event"] == "message" and there["data"]["id"] in ids
        assert there["id"].split("-")[0] != first["id"].split("-")[0]
        stream.close()


def test_more_views_than_watches(make_web):
    """Views beyond the watches of hearsayd are looked at every few seconds, and nothing is doubled."""
    web = make_web("events_per_address = 4\n", "[limits]\nwatches_per_session = 2\n")
    since = int(time.time() * 1000) - 2000  # as the script of the page says it
    streams = [web.events(f"/events?t=topic{number}&since={since}", source="127.0.0.9")
               for number in range(4)]
    ids = [{id_of(web.leave(f"{text} about {number}", source=f"127.0.1.{number + 1}", t=f"topic{number}"))
            for text in ("one", "two")} for number in range(4)]
    for number, stream in enumerate(streams):
        assert {stream.next()["data"]["id"] for _ in range(2)} == ids[number]
        stream.close()
    # Who comes from another place to such a view is told to load the list.
    streams = [web.events(f"/events?t=topic{number}", source="127.0.0.9") for number in range(3)]
    stranger = web.events("/events?t=topic3", source="127.0.0.8", Last_Event_ID="01234567-5")
    assert stranger.next()["event"] == "gone"
    for stream in (*streams, stranger):
        stream.close()


def test_long_messages_do_not_fit_into_the_list(make_web, rng):
    """What hearsayd leaves out of its answer is a link."""
    web = make_web("per_page = 30\ncache = 0\n")
    with web.gateway.daemon.administrator() as client:
        labels = [*client.welcome.hosts[0].here, "topic:long"]
        for number in range(25):
            client.call(wire.deposit_of(rng, labels, payload=b"%02d " % number + b"x" * 4000,
                                        media_type="text/plain"))
    page = web.get().text
    items = re.findall(r"<li>(<div>.*?)</li>", page, re.S)
    omitted = [text for text in items if "did not fit into the list" in text]
    assert len(items) == 25 and 0 < len(omitted) < 25
    for text in omitted:
        one = re.search(r'href="(/m/[0-9a-f]{32})', text).group(1)
        assert "xxxx" in web.get(one).text


def test_the_newest_of_very_many(make_web, rng):
    """Hearsayd answers with 100 at a time, the nearest; a newer one that is less near comes first,
    and page by page there is each message once."""
    web = make_web("cache = 0\n", "[host default]\nhere = place:bar\n")
    sent = []
    with web.gateway.daemon.administrator() as client:
        for number in range(250):
            labels = ["place:bar"] if number % 50 < 40 else ["place:bar", "topic:jazz"]
            text = f"number {number:03} of many"
            left = client.call(wire.deposit_of(rng, labels, payload=text.encode(),
                                               media_type="text/plain"))
            sent.append(text)
            while client.call(pb.Ping()).now_ms <= left.deposited_ms:
                pass  # each has a time of its own
    listed, path = [], "/"
    while path:
        page = web.get(path).text
        listed += re.findall(r"number \d{3} of many", page)
        older = re.search(r'rel="next" href="([^"]*)"', page)
        path = older and html.unescape(older.group(1))
    assert listed == sent[::-1]


def test_other_names_are_refused(make_web):
    """A page that has its own name led here (DNS rebinding) reads nothing."""
    web = make_web()
    assert web.leave("secret of the place").status == 200
    for host in ("evil.example", f"evil.example:{web.port}", NAME, f"127.0.0.2:{web.port}"):
        answer = web.get(host=host)
        assert answer.status == 421 and "secret" not in answer.text
        assert NAME in answer.text
    for host in (f"127.0.0.1:{web.port}", f"localhost:{web.port}"):
        assert web.get(host=host).status == 200


def test_texts_are_bounded(make_web):
    web = make_web()
    assert web.leave("\N{SAXOPHONE}" * 500).status == 200
    answer = web.leave("\N{SAXOPHONE}" * 501)
    assert answer.status == 413 and "\N{SAXOPHONE}" * 501 in answer.text
    assert web.leave("  \n ").status == 400


def test_a_topic_is_a_filter(make_web):
    """A list of a topic has the messages with this topic, and no others of the place."""
    web = make_web("cache = 0\n", "[host default]\nhere = place:bar, wifi:a4:2b:8c:01:02:03, "
                   "wifi:a4:2b:8c:01:02:04\n")
    assert web.leave("about coffee", t="Coffee").status == 200
    assert web.leave("about both", source="127.0.0.8", t="coffee, cake").status == 200
    assert web.leave("about nothing", source="127.0.0.9").status == 200
    assert "about nothing" in web.get().text
    page = web.get("/?t=coffee").text
    assert "about coffee" in page and "about both" in page and "about nothing" not in page
    page = web.get("/?t=coffee&t=cake").text
    assert "about both" in page and "about coffee" not in page
    assert "<h3" not in web.get("/?t=tea").text


@pytest.mark.parametrize("config, has_label", [
    ("[host default]\nhere = place:bar\n", True),
    ("[host default]\n", False),
], ids=["of-the-operator", "of-the-store"])
def test_the_page_and_apps_find_one_another(make_web, rng, config, has_label):
    """The page shows what was left here, however many other labels the message has, and whatever the
    nearest messages are; with a topic it shows all that have the topic."""
    web = make_web("cache = 0\n", config)
    assert web.leave("by the page", t="coffee").status == 200
    sees = [f"wifi:a4:2b:8c:01:02:{number:02x}" for number in range(20)]
    with web.gateway.daemon.administrator() as client:
        here = list(client.welcome.hosts[0].here)
        assert (here == ["place:bar"]) == has_label and len(here) == 1
        for labels, text in (([*here, *sees], "by an app that is here"),
                             (sees, "by a scan alone")):
            client.call(wire.deposit_of(rng, [*labels, "topic:coffee"], payload=text.encode(),
                                        media_type="text/plain"))
        found = client.call(wire.query_of(sees, k=1, metric=pb.BITS, with_payload=True)).results
        assert found[0].payload == b"by a scan alone"
    page = web.get().text
    assert "by the page" in page and "by an app that is here" in page
    assert "by a scan alone" not in page
    page = web.get("/?t=coffee").text
    assert all(text in page for text in ("by the page", "by an app that is here", "by a scan alone"))
    assert "<h3" not in web.get("/?t=tea").text


def test_a_place_with_a_scan_of_the_access_point(make_web, tmp_path):
    """The page and `hearsay` take the same of 200 here labels, which fill less than half of the section."""
    here = tmp_path / "here"
    here.write_text("".join(f"wifi:02:22:33:44:{n:02x}:{n * 7 % 256:02x}{level}\n" for n in range(66)
                            for level in ("", "@2", "@3")))
    web = make_web("cache = 0\n", "[limits]\ndeposit_fill_max = 50%\nquery_fill_max = 50%\n"
                   f"[host default]\nhere_file = {here}\nhere = place:bar, topic:tea\n")
    assert web.leave("by the page").status == 200
    command = [conftest.program(conftest.HEARSAY), "-s", web.gateway.daemon.socket_path]
    done = subprocess.run([*command, "deposit", "by an app"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "may not find it" not in done.stderr, done.stderr
    page = web.get().text
    assert "by the page" in page and "by an app" in page
    done = subprocess.run([*command, "query", "--json"], capture_output=True, text=True, check=False)
    assert [json.loads(line)["distance"] for line in done.stdout.splitlines()] == [0, 0], done.stderr


def test_topics_of_other_letters(make_web):
    """Topics of all letters; a build without utf8proc (as for OpenWrt) refuses, and says which."""
    command = conftest.program(os.environ.get("HEARSAY", "build/client/hearsay"))
    refused = subprocess.run([command, "context", "--profile", "v2:512/4", "--topic", "Café"],
                             capture_output=True)
    web = make_web("cache = 0\n", "[host default]\nhere = place:bar\n")
    answer = web.leave("about coffee", t="CAFÉ")
    if refused.returncode == 0:
        assert answer.status == 200
        assert "about coffee" in web.get("/?t=" + urllib.parse.quote("café")).text
        return
    assert b"built without utf8proc" in refused.stderr
    for page in (answer, web.get("/?t=" + urllib.parse.quote("café"))):
        assert page.status == 400 and "no letters but a to z" in page.text, page.text
    assert "about coffee" in answer.text, "the text is not lost"
    assert web.leave("about coffee", t="Coffee").status == 200
    assert "about coffee" in web.get("/?t=coffee").text


def test_reviewed_messages_wait(make_web):
    web = make_web("cache = 0\n", "[host default]\naccept = review\n")
    assert web.leave("wait for me").status == 200
    assert "wait for me" not in web.get().text


def test_a_closed_host_says_so(make_web):
    web = make_web("", "[host default]\naccept = closed\n")
    page = web.get()
    assert page.status == 200 and 'action="/leave"' not in page.text
    assert "Leave " not in page.text, "nothing asks for a message"


def test_the_operator_closes_and_opens(make_web):
    """The page knows within a second, on the connection that it has."""
    web = make_web("cache = 0\n")

    def page_says(text, leaves):
        page = web.get().text
        return text in page and ('action="/leave"' in page) == leaves

    with web.gateway.daemon.administrator() as operator:
        for mode, text, leaves in (("closed", "No new messages", False),
                                   ("review", "The operator looks at each message first", True),
                                   ("open", "Leave a message", True)):
            operator.call(wire.pb.Accept(mode=mode))
            wire.wait_until(lambda: page_says(text, leaves), f"the page says {mode}")
            form = {**web.form(), "text": mode} if leaves else None
        operator.call(wire.pb.Accept(mode="closed"))
        closed = web.post("/leave", form)
        assert closed.status == 403 and "No new messages" in closed.text and "open" in closed.text


@pytest.mark.parametrize("is_closing", [True, False])
def test_a_schedule_says_until_when(make_web, monkeypatch, is_closing):
    """A schedule closes, or it opens what else is closed."""
    monkeypatch.setenv("TZ", "XYZ-1")
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=1)))
    begin, end = (now + datetime.timedelta(hours=hours) for hours in (-2, 4))
    lines = (f"accept_schedule = {begin:%H:%M}-{end:%H:%M} closed\n" if is_closing else
             f"accept = closed\naccept_schedule = {end:%H:%M}-{begin:%H:%M} open\n")
    web = make_web("", "[host default]\n" + lines)
    page = web.get().text
    assert 'action="/leave"' not in page
    # A clock that is not trusted, as on a machine that has just started, says no time of the day.
    assert f"Open again at {end:%H:%M}." in page or "Try again in about 4 h" in page \
        or "Try again in about 3 h" in page


def test_deposits_are_limited_by_phone(make_web):
    web = make_web("", "[limits]\ndeposits_per_minute = 1\ndeposit_burst = 1\n")
    assert web.leave("one", source="127.0.0.7").status == 200
    answer = web.leave("two is too many", source="127.0.0.7")
    assert answer.status == 429 and "two is too many" in answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    assert web.leave("of another phone", source="127.0.0.8").status == 200


def test_reads_are_limited_by_phone(make_web):
    """hearsayd refuses; the plain list, which all read, is shown all the same. A list with a topic, an older one and a
    message are not, so a phone without tokens does not learn which of them another phone has just read."""
    web = make_web("cache = 1m\n", "[limits]\nqueries_per_minute = 1\nquery_burst = 9\n")

    def read(topic, source):
        return web.get(f"/?t={topic}", source=source)

    answers = [read(f"a{number}", "127.0.0.7") for number in range(12)]
    statuses = [answer.status for answer in answers]
    count = statuses.index(429)
    assert 1 < count < 10 and statuses == count * [200] + (12 - count) * [429]
    assert "Retry-After" in answers[-1].headers and "action=\"/leave\"" not in answers[-1].text
    assert web.get("/", source="127.0.0.8").status == 200 == web.get("/", source="127.0.0.7").status
    for path in f"/?t=a{count}", "/?before=1790000000000", "/m/" + 32 * "a":
        assert web.get(path, source="127.0.0.8").status != 429 == web.get(path, source="127.0.0.7").status, path
    assert read("a0", "127.0.0.7").status == 429


def test_answers_of_others_are_paid(make_web):
    """A phone pays the same for what another phone has just read as for what nobody reads."""
    web = make_web("cache = 1m\n", "[limits]\nqueries_per_minute = 1\nquery_burst = 9\n")

    def count_read(path, source):
        return [web.get(path, source=source).status for _ in range(12)].count(200)

    assert web.get("/?t=union", source="127.0.0.7").status == 200
    assert 1 < count_read("/?t=union", "127.0.0.8") == count_read("/?t=jazz", "127.0.0.9") < 10


def test_streams_are_paid_like_lists(make_web):
    """Each stream of another view makes a watch at hearsayd. A phone that opens ever new ones is refused
    as one that reads ever new lists; the stream behind the plain page costs nothing."""
    web = make_web("cache = 1m\n", "[limits]\nqueries_per_minute = 1\nquery_burst = 9\n")

    def status_of(query, source):
        connection = web.connection(source)
        connection.sendall(f"GET /events?{query} HTTP/1.1\r\nHost: {NAME}:{web.port}\r\n\r\n".encode())
        with connection, connection.makefile("rb") as answer:
            return int(answer.readline().split()[1])

    assert web.get("/", source="127.0.0.7").status == 200
    assert [status_of("", "127.0.0.7") for _ in range(3)] == 3 * [200]
    statuses = [status_of(f"t=a{number}", "127.0.0.7") for number in (0, *range(12))]
    count = statuses.index(429)
    assert 4 < count < 12 and statuses == count * [200] + (13 - count) * [429]
    assert status_of("", "127.0.0.7") == 200 == status_of("t=b", "127.0.0.8")


def proxied(web):
    """The port behind a proxy."""
    web.port = int(web.wait_log(r"listening on 127\.0\.0\.1:(\d+) proxied").group(1))
    return web


def test_a_proxy_tells_the_phones_apart(make_web):
    """The one address of X-Forwarded-For has the limits; without one there is no answer."""
    web = proxied(make_web("listen = 127.0.0.1:0 proxied\ncache = 0\n",
                           "[limits]\ndeposits_per_minute = 1\ndeposit_burst = 1\n"))

    def leave(text, phone):
        page = web.get(X_Forwarded_For=phone)
        fields = {**fields_of(page.text, "/leave"), "text": text}
        return web.post("/leave", fields, X_Forwarded_For=phone).status

    for phone in ("192.0.2.7", "192.0.2.8", "2001:db8::7"):
        assert [leave(f"{number} of {phone}", phone) for number in (1, 2)] == [200, 429]
    assert leave("again", "198.51.100.1, 192.0.2.7") == 429  # what the phone claims is not heard
    form = fields_of(web.get(X_Forwarded_For="192.0.2.9").text, "/leave")
    stolen = web.post("/leave", {**form, "text": "not mine"}, X_Forwarded_For="192.0.2.10")
    assert stolen.status == 403
    for wrong in ("", "unknown", "phone.example", "192.0.2.7:80", "192.0.2", "192.0.2.7, ",
                  "[2001:db8::7]"):
        assert web.get(X_Forwarded_For=wrong).status == 400, wrong
    assert web.get().status == 400
    with socket.create_connection(("127.0.0.1", web.port), wire.PATIENCE) as raw:
        raw.sendall(f"GET / HTTP/1.1\r\nHost: {NAME}:{web.port}\r\nX-Forwarded-For: 192.0.2.7\r\n"
                    "X-Forwarded-For: 192.0.2.8\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_portal_without_internet(make_web):
    """All names lead here: phones are sent to ours until they have pressed the button."""
    web = make_web("portal = offline\n")
    probes = {"/generate_204": (204, ""), "/hotspot-detect.html": (200, "Success"),
              "/connecttest.txt": (200, "Microsoft Connect Test"), "/success.txt": (200, "success")}
    here = f"http://{NAME}:{web.port}/"

    def probe(path, source):
        return web.get(path, host="connectivity.example", source=source)

    for path in (*probes, "/"):
        answer = probe(path, "127.0.0.7")
        assert answer.status == 302 and answer.headers["Location"] == here
    form = web.request("POST", "/leave", "text=x", host="shop.example",
                       Content_Type="application/x-www-form-urlencoded")
    assert form.status == 421 and NAME not in form.text
    stay = fields_of(web.get(source="127.0.0.7").text, "/stay")
    done = web.post("/stay", stay, "127.0.0.7")
    assert done.status == 200 and here in done.text
    for path, (status, text) in probes.items():
        answer = probe(path, "127.0.0.7")
        assert answer.status == status and text in answer.text
        assert probe(path, "127.0.0.8").status == 302
    assert probe("/", "127.0.0.7").status == 302
    assert "remembers for up to 12 hours" in web.get("/about").text
    assert 'action="/stay"' not in web.get(source="127.0.0.7").text
    assert 'action="/stay"' in web.get(source="127.0.0.8").text


def test_a_restart_forgets_nobody_who_stays(make_web, open_folder):
    """Whoever pressed the button is not shown the portal again by a program that has crashed."""
    web = make_web("portal = offline\n")
    assert web.post("/stay", fields_of(web.get(source="127.0.0.7").text, "/stay"),
                    "127.0.0.7").status == 200
    with_lock = Web(web.gateway, open_folder, "portal = offline\n")
    with_lock.wait_log("another process uses it.*press .Stay connected. again")
    with_lock.stop()
    web.process.kill()
    web.process.wait(wire.PATIENCE)
    again = Web(web.gateway, open_folder, "portal = offline\n")
    web.process, web.lines = again.process, again.lines  # the fixture stops it
    web.reader, web.port = again.reader, again.port
    for source, status in (("127.0.0.7", 204), ("127.0.0.8", 302)):
        assert web.get("/generate_204", host="connectivity.example",
                       source=source).status == status


def test_a_full_board_keeps_the_text(make_web):
    web = make_web("", "[limits]\nmessages = 1\n")
    assert web.leave("the only one", source="127.0.0.7").status == 200
    answer = web.leave("no room for me", source="127.0.0.8")
    assert answer.status == 507 and "no room for me" in answer.text
    # The tests' time zone says no time of the day: docs/web.md.
    assert "The next place is free in about" in answer.text


def test_before_hearsayd_has_been_heard(make_web, open_folder):
    """No page says how long a message stays before the program knows."""
    web = make_web("")
    web.gateway.daemon.stop()
    early = Web(web.gateway, open_folder)
    page = early.get()
    early.stop()
    assert page.status == 503 and 'id="text"' in page.text
    assert "disappears by itself" not in page.text and "<select" not in page.text


def test_hearsayd_goes_and_comes(make_web):
    web = make_web("cache = 0\n")
    form = {**web.form(), "text": "said while away"}
    web.gateway.daemon.stop()
    web.wait_healthy(503)
    answer = web.post("/leave", form)
    assert answer.status == 503 and "said while away" in answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    web.gateway.daemon.restart()
    web.wait_healthy()
    assert web.post("/leave", fields_of(answer.text, "/leave") | {"text": "back"}).status == 200
    assert "back" in web.get().text
    web.wait_log("warning: no message is taken, and pages are old, until hearsayd answers at .*gateway.*: ")
    web.wait_log("info: hearsayd answers at ")
