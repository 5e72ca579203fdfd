# SPDX-License-Identifier: Apache-2.0
"""Finds what a program should not keep: in files, in text, and in the memory of a process.

A fact is something about a phone, such as its address. `forms_of` says as which bytes a fact may
stand somewhere, and `Search` finds these bytes.
"""

import base64
import bisect
import contextlib
import ipaddress
import os
import re
import signal
import sqlite3

import hearsay_wire as wire

PAGE = 4096
WORD = 4  # no form is shorter
BASE64_LEAST = 6  # fewer characters stand somewhere by chance
PIECE = 24
AROUND = 48  # bytes on each side that tell where a form stands
SKIPPED_MAPS = ("[vvar]", "[vsyscall]")

# --- forms ----------------------------------------------------------------------------------------


def _base64_inside(name, data):
    """In the base64 of something that begins one or two bytes before: the characters that follow
    from the data alone."""
    for before, mixed in ((1, 2), (2, 3)):
        whole = (before + len(data)) * 8 // 6
        inner = base64.b64encode(bytes(before) + data)[mixed:whole]
        if len(inner) >= BASE64_LEAST:
            yield f"{name}, base64 after {before}", inner, False


def _packed(name, data):
    """Bytes in both orders, as they are, in hex and in base64."""
    for order, each in (("", data), (", reversed", data[::-1])):
        yield f"{name}{order}", each, False
        yield f"{name}{order}, hex", each.hex().encode(), True
        yield f"{name}{order}, base64", base64.b64encode(each).rstrip(b"="), False
        yield from _base64_inside(f"{name}{order}", each)


def _text(name, text):
    data = text.encode()
    yield name, data, True
    yield f"{name}, hex", data.hex().encode(), True
    yield f"{name}, base64", base64.b64encode(data[: len(data) // 3 * 3]), False
    yield from _base64_inside(name, data)


def _long_text(text):
    """Also the rest of a text of which a part was overwritten."""
    yield from _text("text", text)
    if len(text) > 2 * PIECE:
        for name, at in (("beginning", 0), ("middle", len(text) // 2), ("end", len(text) - PIECE)):
            yield from _text(name, text[at : at + PIECE])


def _address_forms(text):
    address = ipaddress.ip_address(text)
    yield from _text("text", address.compressed)
    yield from _packed("packed", address.packed)
    if address.version == 6:
        yield from _text("long text", address.exploded)
        yield from _packed("the last half", address.packed[8:])


def _label_forms(label):
    yield from _text("label", label)
    whole = wire.xxhash.xxh3_128_intdigest(label.encode())
    yield from _packed("low half of the hash", (whole & (1 << 64) - 1).to_bytes(8, "big"))
    yield from _packed("high half of the hash", (whole >> 64).to_bytes(8, "big"))


def _scan_forms(text):
    """Of the address of an access point."""
    yield from _text("text", text)
    yield from _text("text with -", text.replace(":", "-"))
    yield from _packed("packed", bytes.fromhex(text.replace(":", "")))
    yield from _label_forms("wifi:" + text)


def _topic_forms(text):
    yield from _text("text", text)
    yield from _label_forms("topic:" + text)


_FORMS = {"address": _address_forms, "scan": _scan_forms, "label": _label_forms,
          "topic": _topic_forms, "text": _long_text, "gone": _long_text, "reason": _long_text,
          "gone reason": _long_text, "token": lambda token: _packed("packed", token)}


def forms_of(kind, value):
    """Of each form: its name, its bytes, and whether case does not matter. The kinds without forms
    of their own are plain text."""
    return list(_FORMS.get(kind, lambda text: _text("text", text))(value))


# --- finding --------------------------------------------------------------------------------------


class Search:
    """Looks for many facts at once: pairs of a kind and a value."""

    def __init__(self, facts):
        # Whether case does not matter: the first word: the forms that begin with this word.
        self.forms = {False: {}, True: {}}
        for fact in facts:
            for name, data, is_folded in forms_of(*fact):
                data = data.lower() if is_folded else data
                assert len(data) >= WORD, (fact, name)
                (word,) = memoryview(data[:WORD]).cast("I")
                self.forms[is_folded].setdefault(word, []).append((data, fact, name))

    def find(self, data):
        """The pairs of a fact and the name of a form that stand in the data."""
        found = set()
        for is_folded, forms in self.forms.items():
            text = data.lower() if is_folded else data
            for word in _words_of(text) & forms.keys():
                found |= {(fact, name) for wanted, fact, name in forms[word] if wanted in text}
        return found


def _words_of(data):
    """All words of the data, at each place."""
    view = memoryview(data)
    parts = (view[at : at + (len(data) - at) // WORD * WORD].cast("I") for at in range(WORD))
    return set().union(*parts) if len(data) >= 2 * WORD else set()


# --- where to look --------------------------------------------------------------------------------


@contextlib.contextmanager
def stopped(pid):
    """The process stands still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wire.wait_until(lambda: _state_of(pid) == "T", "the process is stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def writable_areas(pid):
    """The first address, the end and the name of each area that the process can write."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            first, end, rights, name = re.match(
                r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", line).groups()
            if rights.startswith("rw") and name not in SKIPPED_MAPS:
                yield int(first, 16), int(end, 16), name


class Memory(bytes):
    """What a process can write, without pages of zeros. A core dump has the same pages. `pages` has
    of each page: where it begins in these bytes, its address, and the first address, the end and
    the name of its area."""

    pages = ()

    def place_of(self, at):
        """Says where in the process the byte number `at` was."""
        begins, address, (first, end, name) = self.pages[
            bisect.bisect(self.pages, at, key=lambda page: page[0]) - 1]
        address += at - begins
        return (f"{name or 'an area without a name'}, {address - first} bytes behind its first one "
                f"and {end - address} before its end")


def memory_of(pid):
    parts, pages, length = [], [], 0
    with stopped(pid), open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for first, end, name in writable_areas(pid):
            data = os.pread(memory.fileno(), end - first, first)
            for at in range(0, len(data), PAGE):
                page = data[at : at + PAGE]
                if any(page):
                    pages.append((length, first + at, (first, end, name)))
                    parts.append(page)
                    length += len(page)
            parts.append(b"\n")
            length += 1
    found = Memory(b"".join(parts))
    found.pages = pages
    return found


def stack_pointer_of(pid):
    """Of the first thread, which waits in the kernel."""
    with open(f"/proc/{pid}/syscall", encoding="utf-8") as file:
        return int(file.read().split()[-2], 16)


def places_of(form, data):
    """Says where in the data each copy of the form stands, and what stands around it."""
    _, wanted, is_folded = form
    text, wanted = (data.lower(), wanted.lower()) if is_folded else (data, wanted)
    for found in re.finditer(re.escape(wanted), text):
        around = data[max(found.start() - AROUND, 0) : found.end() + AROUND]
        place = data.place_of(found.start()) if isinstance(data, Memory) else f"at {found.start()}"
        yield f"{place}, among {bytes(around)!r}"


def files_in(folder):
    """The bytes of all files, and the names of all."""
    parts = []
    for path, _, names in os.walk(folder):
        for name in names:
            whole = os.path.join(path, name)
            parts.append(name.encode())
            if os.path.isfile(whole):
                with open(whole, "rb") as file:
                    parts.append(file.read())
    return b"\n".join(parts)


def values_in(database):
    """All values of all tables: in the file, pages may divide a value."""
    parts = []
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in opened.execute(f"SELECT * FROM {table}"):
                parts += [value if isinstance(value, bytes) else str(value).encode()
                          for value in row]
    return b"\n".join(parts)
