# SPDX-License-Identifier: Apache-2.0
"""What is in the box if it is taken: the table of docs/privacy.md, against a day of phones.

Fifty phones come in a day of the clock. Then the test looks for their addresses, labels, names of
browsers and so on, in all that the two programs have written and in their memory, and compares what
is there with the table.
"""

import contextlib
import os
import random
import re
import sqlite3

import pytest

import cli_runner
import conftest
import hearsay_wire as wire
import town
import traces
from test_gateway import make_gateway, open_folder  # noqa: F401 (fixtures)

PHONES, MINUTES = 50, 24 * 60
STILL_THERE = ["page4", "page6", "proxy6", "app4", "app6", "gateway4"]
PAGE = os.path.join(wire.ROOT, "docs", "privacy.md")
HEADING = "## What is in the box if it is taken"
ROWS = {
    "address of a phone": "address",
    "link-layer address of a phone": "link",
    "address of an access point, of a phone's scan": "scan",
    "another label of an app": "label",
    "topic, typed on the page": "topic",
    "name of a browser": "browser",
    "name of an app": "app",
    "text of a message": "text",
    "text of a message that has gone": "gone",
    "reason of a report": "reason",
    "reason of a report of a message that has gone": "gone reason",
    "code to take a message back": "code",
    "token to take a message back": "token",
}
PLACES = ["data, backup", "export", "log", "figures", "hearsayd", "hearsay-web"]
# Phones on loopback have no link-layer address: hostile/t1_many_addresses looks for it.
ELSEWHERE = {"8 addresses"}
WORDS = {"no", "connected", "stored", "debug", "2 pages"} | ELSEWHERE
PAGES_BYTES = 2 * 4096


def read_table():
    """{(kind, place): word}, of the page."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read().partition(HEADING)[2]
    lines = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in re.search(r"^\|.*?(?=^[^|])", text, re.M | re.S).group(0).splitlines()]
    head, _, *rows = lines
    assert head[1:] == PLACES, "the places are those where the test looks"
    assert {row[0] for row in rows} == set(ROWS), "the rows are the facts that the test knows"
    table = {(ROWS[row[0]], place): word for row in rows for place, word in zip(PLACES, row[1:])}
    assert set(table.values()) <= WORDS
    return table


@pytest.fixture(scope="module")
def phones():
    seed = conftest.seed_of()
    print(f"HEARSAY_TEST_SEED={seed}")
    rng = random.Random(seed)
    made = [town.Phone(rng, town.WAYS[i % len(town.WAYS)]) for i in range(PHONES)]
    for phone in made[::3]:
        phone.has_gone = True
    made += [town.Phone(rng, way) for way in STILL_THERE]
    why_not = town.make_network(made)
    if why_not:
        pytest.skip(f"no network of our own: {why_not}")
    return made


@pytest.fixture
def box(make_gateway, open_folder, sanitized, phones):  # noqa: F811
    """The programs, with the addresses of the phones in the network."""
    if sanitized:
        pytest.skip(f"{sanitized} keeps memory that has been freed")
    clock = town.Clock(os.path.join(open_folder, "clock"))
    made = town.Box(make_gateway, open_folder, clock, pytest.MonkeyPatch.context)
    try:
        traces.memory_of(made.web.process.pid)
    except PermissionError:
        made.web.stop()
        pytest.skip("the memory of another user's process cannot be read here")
    yield made
    made.web.stop()


def is_gone_from_page(phone):
    return phone.has_gone and phone.is_on_page()


def take_last_back(box, phones):
    """While both programs have just read all texts: for an export, and for a long list. The last
    report, too, is about a message that goes."""
    going = [phone for phone in phones if phone.has_gone and phone.way.startswith("gateway")]
    cli_runner.of_daemon(box.daemon, box.daemon.socket_path).ok("export")
    first = phones[0]  # whoever came first had nothing to report
    assert first.is_on_page() and first.reported is None
    box.ask(first, "GET", "/")
    box.report_on_page(first, going[-1])
    for phone in going:
        box.take_back(phone)


def spend_day(box, phones):
    """A minute after the other. Phones come all day; the last ones come in the last hours."""
    coming = {number * (MINUTES - 70) // len(phones): phone for number, phone in enumerate(phones)}
    last = None
    for minute in range(MINUTES):
        if minute in coming:
            box.visit(coming[minute], last)
            # What is on the page was taken back at once.
            last = last if is_gone_from_page(coming[minute]) else coming[minute]
        box.minute()


def look_everywhere(box):
    """{place: bytes}, of all that there is."""
    admin = cli_runner.of_daemon(box.daemon, box.daemon.socket_path)
    backup = os.path.join(box.daemon.data, "backup.db")
    if not os.path.exists(backup):
        admin.ok("admin", "backup", backup)
    figures = [admin.ok("admin", "stats", *words) for words in
               ([], ["--json"], ["--prometheus"])] + [box.figures()]
    memory = {"hearsayd": traces.memory_of(box.daemon.process.pid),
              "hearsay-web": traces.memory_of(box.web.process.pid)}  # before more is read
    return {
        **memory,
        "data, backup": traces.files_in(box.daemon.data) + traces.values_in(backup),
        "export": admin.ok("export").encode(),
        "log": box.logs(),
        "figures": "\n".join(figures).encode(),
    }


def test_a_day_leaves_what_the_table_says(box, phones):
    table = read_table()
    *visitors, = phones[:PHONES]
    there = phones[PHONES:]
    spend_day(box, visitors)
    take_last_back(box, visitors)
    with contextlib.ExitStack() as stack:
        for phone in there:
            box.visit(phone, None)
            stack.enter_context(contextlib.closing(
                box.open_page(phone) if phone.is_on_page() else box.connect(phone)))
        box.minute()
        box.minute()
        box.wait_scrubbed([phone.text for phone in phones if phone.has_gone])
        looked = look_everywhere(box)
        found = {place: traces.Search(fact for phone in phones for fact in phone.facts()).find(data)
                 for place, data in looked.items()}
    of_connected = {fact for phone in there for fact in phone.facts()}
    forms = {(fact, form[0]): form for phone in phones for fact in phone.facts()
             for form in traces.forms_of(*fact)}
    wrong, left = [], {}
    for place, pairs in found.items():
        for fact, name in pairs:
            word, form = table[fact[0], place], forms[fact, name]
            if word == "2 pages":
                left[fact] = max(left.get(fact, 0), len(form[1]))
            if word == "no" or word == "connected" and fact not in of_connected:
                where = "; ".join(traces.places_of(form, looked[place]))
                wrong.append(f"{place}: {fact[0]} {fact[1]!r:.60} as {name}; the table: {word}; "
                             f"{where}")
    assert not wrong, "\n".join(sorted(wrong))
    assert sum(left.values()) <= PAGES_BYTES, left
    # What the table says is true, too.
    for (kind, place), word in table.items():
        if word not in {"no", "2 pages"} | ELSEWHERE:
            assert any(fact[0] == kind for fact, _ in found[place]), f"{place} has no {kind}"


# --- what requests leave on the stack -------------------------------------------------------------

BELOW = 32 * 1024  # more than requests use, and less than the programs overwrite


def plant_below_stack(pid, data):
    """Where the functions that the process may call next have their variables."""
    with traces.stopped(pid), open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        os.pwrite(memory.fileno(), data, traces.stack_pointer_of(pid) - BELOW)


def test_stack_is_overwritten_each_minute(box, rng):
    """However often the timers of the programs have run: the clocks jump, and each timer runs once.
    Functions that are called later overwrite only parts of what is on the stack."""
    planted = rng.randbytes(32)
    form = ("planted", planted, False)
    for _ in range(5):
        for program in (box.daemon, box.web):
            plant_below_stack(program.process.pid, planted)
            assert planted in traces.memory_of(program.process.pid)
        box.minute()
        for program in (box.daemon, box.web):
            assert not list(traces.places_of(form, traces.memory_of(program.process.pid)))


# --- the search finds what is there ---------------------------------------------------------------


def plant_in_free_pages(path, blobs):
    """Of a database: it has the bytes, and no table has them."""
    with contextlib.closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA secure_delete = OFF")
        opened.execute("CREATE TABLE planted (bytes BLOB)")
        opened.executemany("INSERT INTO planted VALUES (?)", [(blob,) for blob in blobs])
        opened.commit()
        opened.execute("DROP TABLE planted")
        opened.commit()


def plant_in_memory(pid, data):
    """Where the stack has not grown to."""
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        ((first, end),) = [(first, end) for first, end, name in traces.writable_areas(pid)
                           if name == "[stack]"]
        assert len(data) < (end - first) / 2
        os.pwrite(memory.fileno(), data, first)


def test_planted_facts_are_found(box, rng):
    """Each form of each fact of phones that were never there, in each place."""
    strangers = [town.Phone(rng, way) for way in town.WAYS]
    strangers[0].code = town.word(rng, 26)
    strangers[0].has_gone = True
    strangers[1].reported, strangers[2].reported = strangers[0], strangers[1]
    for phone in strangers:
        phone.text, phone.reason = phone.text[:60], phone.reason[:60]  # they have room on a stack
    facts = [fact for phone in strangers for fact in phone.facts()]
    assert {kind for kind, _ in facts} == set(ROWS.values()) - {"link"}
    forms = {(fact, name): data for fact in facts for name, data, _ in traces.forms_of(*fact)}
    search = traces.Search(facts)
    for place, data in look_everywhere(box).items():
        assert not search.find(data), f"{place}, before anything was planted"

    whole = b"\0".join(forms.values())
    file = os.path.join(box.daemon.data, "planted")
    plant_in_free_pages(file, forms.values())
    assert not search.find(traces.values_in(file))
    assert search.find(traces.files_in(box.daemon.data)) == forms.keys()
    with open(file, "wb") as planted:
        planted.write(whole)
    box.web.lines.append(whole.decode(errors="backslashreplace"))
    for program in (box.daemon, box.web):
        plant_in_memory(program.process.pid, whole)
    for place, data in look_everywhere(box).items():
        data += whole if place in ("export", "figures") else b""  # these two are text
        assert search.find(data) == forms.keys(), place
