# SPDX-License-Identifier: Apache-2.0
"""No message takes more than twelve lines of the list, however its text is made; the rest is behind
"Read on", without JavaScript, too."""

import pytest

# The height of each text in the list, in lines, and what the card says below it.
HEIGHTS = """
  return Array.from(document.querySelectorAll('#messages > li'), (item) => {
    const text = item.querySelector('div');
    const line = parseFloat(getComputedStyle(text).lineHeight);
    return [text.textContent.slice(0, 4), text.getBoundingClientRect().height / line,
            text.scrollHeight / line, (item.querySelector('.meta b') || {textContent: ''}).textContent];
  });
"""

TEXTS = {
    "fdfd": "\ufdfd" * 100,         # ligatures that are a sentence each
    "wide": "\U0001242b" * 150,     # cuneiform
    "cjk ": "\u6f22" * 400,
    "long": "long words " * 40,
    "line": "line\n\n" * 60,
    "mark": "Z\u0351\u036b" * 200,
    "para": "\n\n".join(["paragraph of some words, and a line in between that has no word at all, at all."] * 4),
    "shrt": "a short text",
}


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_twelve_lines(phone, make_place, faults, script):
    place = make_place()
    for number, (name, text) in enumerate(TEXTS.items()):
        place.leave(text[:500], source=f"127.0.0.{number + 10}")
    phone.script(script)
    for language in ("en", "ar"):
        for width in (320, 360, 412):
            phone.width(width)
            phone.open(place, f"/?l={language}")
            shown = phone.run(HEIGHTS)
            assert len(shown) == len(TEXTS)
            read_on = {"en": "Read on"}.get(
                language, "\u062a\u0627\u0628\u0639 \u0627\u0644\u0642\u0631\u0627\u0621\u0629")
            for text, height, whole, link in shown:
                if height > 12.1:
                    faults.add(f"{text} ({width} px)", [f"{height} lines"])
                if whole > height + 0.5 and link != read_on:
                    faults.add(f"{text} ({width} px)", [f"{whole} lines, and no more behind: {link}"])
                if abs(whole - round(whole)) > 0.1:
                    faults.add(f"{text} ({width} px)", [f"{whole} lines: cut within a line"])
                if text.startswith("a sh") and link != "":
                    faults.add(f"{text} ({width} px)", [link])
    faults.check()
    phone.width(360)
    phone.open(place, "/?l=en")  # the tab remembers the language of before
    phone.follow("li:has(.meta b) h3 a")
    whole = phone.run("const t = document.querySelector('.text');"
                      " return t.scrollHeight <= t.clientHeight + 1;")
    assert whole, "its page has all of it"
