# SPDX-License-Identifier: Apache-2.0
"""The poster on paper: people type what it says, so no address, name or password is broken.

Chromium prints it, and pdftotext reads the print, line by line as it stands on the paper.
"""

import base64
import re
import shutil
import subprocess

import pytest

PAPERS = {"A4": (8.27, 11.69), "Letter": (8.5, 11)}  # inches
# Two with one language, two with two: beside "ar" there is English.
SHEETS = ("en", "de&and=de", "fr&and=de", "ar")
WHAT = {"en": "no app, no account", "de": "keine App, kein Konto", "fr": "sans appli, sans compte"}
SHORT = {"title": "Café Jules", "wifi_ssid": "Café Jules Guests", "wifi_password": "open sesame now"}
# As long as WiFi and the configuration allow: 32 bytes, 63 characters, 127 characters.
LONGEST = {
    "title": "Gemeindezentrum und Stadtteilbibliothek an der Rheinbrücke",
    "wifi_ssid": "Gemeindezentrum Rheinbruecke 5G!",
    "wifi_password": "correct horse battery staple and twenty more words in one linex",
    "name": ".".join(("hearsay", "a" * 50, "b" * 50, "c" * 13, "lan")),
}


@pytest.fixture(params=["short", "longest"])
def words(request):
    assert [len(LONGEST[key]) for key in ("wifi_ssid", "wifi_password", "name")] == [32, 63, 127]
    return SHORT if request.param == "short" else LONGEST


@pytest.fixture
def poster(make_place, words):
    place = make_place("".join(f"{key} = {value}\n" for key, value in words.items() if key != "name"))
    if "name" in words:  # before the one that phones of the tests know: the poster has the first
        with open(place.file, encoding="utf-8") as file:
            config = file.read()
        with open(place.file, "w", encoding="utf-8") as file:
            file.write(config.replace("[web]\n", f"[web]\nname = {words['name']}\n"))
        place.restart()
    return place


def print_page(phone, paper, folder):
    """The lines of the print, and how many pages it has."""
    width, height = PAPERS[paper]
    pdf = folder / f"poster-{paper}.pdf"
    pdf.write_bytes(base64.b64decode(phone.cdp(
        "Page.printToPDF", paperWidth=width, paperHeight=height, printBackground=True)["data"]))
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True,
                          text=True).stdout
    text = re.sub("[\u200e\u200f\u2066-\u2069\u202a-\u202e]", "", text)  # marks of direction
    return [" ".join(line.split()) for line in text.splitlines()], text.count("\f")


# What people type: its lines, and where it begins and ends, and the card around it.
LINES = """
  return [...document.querySelectorAll('.codes .code')].map((code) => {
    const range = document.createRange(), lines = [];
    let last;
    for (const node of code.childNodes) {
      for (let i = 0; i < node.length; i++) {
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        const {top} = range.getBoundingClientRect();
        lines.push(...top === last ? [lines.pop() + node.data[i]] : [node.data[i]]);
        last = top;
      }
    }
    range.selectNodeContents(code);
    const box = range.getBoundingClientRect(), card = code.closest('.card').getBoundingClientRect();
    return [lines, box.left, box.right, card.left, card.right];
  });
"""


def addresses(phone):
    """What the page itself says, which need not be broken to be wrong."""
    return [element.get_attribute("textContent") for element in phone.all(".codes .code")]


def test_nothing_is_broken_on_paper(phone, poster, words, tmp_path):
    if shutil.which("pdftotext") is None:
        pytest.skip("there is no pdftotext: scripts/install-packages browser brings poppler-utils")
    for language in SHEETS:
        phone.open(poster, f"/poster?l={language}")
        said = addresses(phone)
        assert words["wifi_ssid"] in said and words["wifi_password"] in said
        assert any(words.get("name", "hearsay.lan") in text for text in said)
        for tag in re.findall("[a-z]{2}", language.replace("and", "")):
            assert WHAT.get(tag, "بلا تطبيق ولا حساب") in phone.text(".poster"), (language, tag)
        for wide in (360, 1280):  # a print takes its width from the paper, not from the window
            phone.width(wide)
            for paper in PAPERS:
                lines, pages = print_page(phone, paper, tmp_path)
                where = f"{language}, {paper}, from {wide} px: {lines}"
                assert pages == 1, where
                for text in said:
                    assert any(text in line for line in lines), f"{text}: {where}"


def test_the_name_of_a_place_is_on_the_paper(phone, make_place, words, tmp_path):
    """With a name of 64 bytes it is still one sheet, in two languages, too."""
    name = ("Main stage by the old oak " * 3)[:64].strip()
    (tmp_path / "places").write_text(f"127.0.0.1 = place:main | {name}\n")
    place = make_place("".join(f"{key} = {value}\n" for key, value in words.items() if key != "name"),
                       f"[host default]\nhere_map = {tmp_path}/places\n")
    for language in SHEETS:
        phone.open(place, f"/poster?l={language}&place={name.replace(' ', '%20')}")
        for paper in PAPERS:
            lines, pages = print_page(phone, paper, tmp_path)
            assert pages == 1 and name in " ".join(lines), (language, paper, lines)


def test_the_longest_fit_on_the_paper(phone, poster, words):
    """Nothing sticks out of A4 or Letter, which are 718 and 739 CSS pixels wide within Chromium's margins."""
    phone.cdp("Emulation.setEmulatedMedia", media="print")
    try:
        for language in SHEETS:
            phone.open(poster, f"/poster?l={language}")
            for width in (718, 739):
                phone.width(width)
                for lines, left, right, _, _ in phone.run(LINES):
                    assert len(lines) == 1 and left >= 0 and right <= width, (language, width, lines, left, right)
    finally:
        phone.cdp("Emulation.setEmulatedMedia", media="")


def test_the_longest_fit_on_a_screen(phone, poster):
    """Within their cards. What fits no line ends its lines behind a blank, or a mark of an address."""
    for language in ("en", "ar"):
        phone.open(poster, f"/poster?l={language}")
        for width in (320, 390, 1280):
            phone.width(width)
            codes = phone.run(LINES)
            for lines, left, right, card_left, card_right in codes:
                where = (language, width, lines)
                assert card_left < left and right < card_right, where
                for line, after in zip(lines, lines[1:]):
                    assert line[-1] in " ./-" or len(re.split("[ ./-]", line)[-1] + after) > 20, where
            network = codes[0][0]
            assert len(network) == 1 or len("".join(network)) > 20, (language, width, network)
