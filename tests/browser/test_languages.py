# SPDX-License-Identifier: Apache-2.0
"""The languages of the page: who can read only one of them finds it first, and keeps it."""

import os
import shutil

import pytest

from test_desk import open_folder  # noqa: F401 (fixture)

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../client/web/rules")
NAMES = {"en": "English", "de": "Deutsch", "fr": "Français", "ar": "العربية"}

# Of each link: its language, where its box ends, whether it is the current one, and how it looks.
LINKS = """
  return [...document.querySelectorAll('.top .langs a')].map((link) => {
    const style = getComputedStyle(link);
    return [link.lang, link.textContent, link.getBoundingClientRect().bottom,
            link.getAttribute('aria-current'), style.color + style.fontWeight + style.textDecorationLine];
  });
"""


def language(phone):
    return phone.find("html").get_attribute("lang")


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_the_links_are_first(phone, make_place, script):
    """On each page, within its first 60 pixels, in one line of the smallest phone."""
    place = make_place()
    phone.script(script)
    phone.width(320)
    for path in ("/", "/about", "/poster", "/m/" + 32 * "0"):
        for tag in NAMES:
            phone.open(place, f"{path}?l={tag}")
            links = phone.run(LINKS)
            assert {one[0]: one[1] for one in links} == NAMES
            assert max(one[2] for one in links) <= 60, (path, tag, links)
            assert [one[0] for one in links if one[3]] == [tag]
            assert len({one[4] for one in links}) == 2, "the current one looks different"
            assert all((one[4] == links[0][4]) == ((one[0] == tag) == (links[0][0] == tag))
                       for one in links)


def test_a_choice_holds_in_the_tab(phone, make_place):
    """Also where somebody types the address again, which has no language."""
    phone.open(make_place())
    assert language(phone) == "en"
    phone.follow("=العربية")
    phone.leave("مرحبا")  # a page that is an answer is not asked for again
    phone.driver.get(phone.place.url("/"))
    phone.until(lambda: language(phone) == "ar", "the language of before")
    assert phone.messages == ["مرحبا"]
    phone.follow("=English")
    phone.driver.get(phone.place.url("/"))
    assert language(phone) == "en"
    phone.driver.get(phone.place.url("/?l=fr"))
    assert language(phone) == "fr", "what the address says holds"


def test_a_choice_holds_by_links_and_forms(phone, make_place):
    """Without JavaScript as long as nobody types the address again."""
    phone.script(False)
    phone.open(make_place())
    phone.follow("=Français")
    phone.leave("Bonjour")
    assert language(phone) == "fr"
    phone.follow("=Revenir aux messages")
    assert language(phone) == "fr" and phone.messages == ["Bonjour"]
    phone.driver.get(phone.place.url("/"))
    assert language(phone) == "en"


def test_rules_in_the_readers_language(phone, make_place, open_folder):  # noqa: F811
    for tag in ("en", "ar"):
        path = shutil.copy(os.path.join(RULES, f"{tag}.txt"), os.path.join(open_folder, f"rules.{tag}.txt"))
        os.chmod(path, 0o644)
    place = make_place(f"rules = {open_folder}/rules.en.txt\n")
    shown = """
      const rules = document.querySelector('section.card .text'), style = getComputedStyle(rules);
      return [rules.closest('[lang]').lang, style.direction, rules.textContent.slice(0, 7)];"""
    for tag, wanted in {"en": ["en", "ltr", "Be kind"], "ar": ["ar", "rtl", "كن لطيف"],
                        "fr": ["en", "ltr", "Be kind"]}.items():
        phone.open(place, f"/about?l={tag}")
        assert phone.run(shown) == wanted, tag
