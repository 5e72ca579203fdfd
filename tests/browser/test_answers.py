# SPDX-License-Identifier: Apache-2.0
"""Answers: the tab in which a message was left says that there are new ones, an open page of the message shows them
behind a button, and nobody else learns whose message it is."""

import pytest

from test_live import WHERE, new_button
from web_runner import fields_of

AUTHOR = "127.0.0.1"
OTHER = "127.0.0.9"


def id_of_first(phone):
    return phone.find("#messages > li").get_attribute("id").removeprefix("m-")


def until_said(phone, words):
    phone.until(lambda: phone.text("#answered") == words, words)


def until_quiet(phone, place, number):
    """The stream has told how many answers there are: the list comes with it."""
    place.leave(f"another thing {number}", source=OTHER)
    new_button(phone, 1)
    assert not phone.has("#answered")


def test_the_author_is_told(phone, place):
    """Until they have read them, over a reload, too."""
    phone.open(place)
    phone.leave("a question")
    parent = id_of_first(phone)
    title = phone.driver.title
    place.answer(parent, "one", source=OTHER)
    until_said(phone, "1 new answer")
    assert phone.driver.title == "(1) " + title
    assert phone.run("return document.getElementById('answered').closest('[role=status]') !== null")
    phone.driver.refresh()
    until_said(phone, "1 new answer")
    place.answer(parent, "two", source=OTHER)
    until_said(phone, "2 new answers")
    phone.width(320)
    assert phone.run("return document.documentElement.scrollWidth") <= 320
    phone.follow("#answered")
    assert f"/m/{parent}?" in phone.driver.current_url and phone.messages == ["one", "two"]
    assert phone.driver.title == "A message · " + title
    phone.follow("=Back to the messages")
    until_quiet(phone, place, 1)
    place.answer(parent, "three", source=OTHER)
    until_said(phone, "1 new answer")
    assert phone.driver.title == "(2) " + title  # and the message


def test_their_number_is_in_one_line(phone, place):
    """And apart from "Take back", which looks like it."""
    phone.open(place)
    phone.leave("a question")
    for number in range(2):
        place.answer(id_of_first(phone), f"answer {number}", source=OTHER)
    for width in (320, 360, 412):
        phone.width(width)
        phone.go("/")
        lines, space = phone.run("""
          const [count, back] = ['b', '.back'].map((what) => document.querySelector('#messages ' + what));
          const [one, other] = [count.getBoundingClientRect(), back.getBoundingClientRect()];
          return [count.getClientRects().length, other.top >= one.bottom ? 99 : other.left - one.right];""")
        assert lines == 1 and space > 10, width


@pytest.mark.parametrize("language, one, two", [
    ("de", "1 neue Antwort", "2 neue Antworten"), ("fr", "1 nouvelle réponse", "2 nouvelles réponses"),
    ("ar", "رد جديد", "ردّان جديدان")])
def test_in_each_language(phone, place, language, one, two):
    phone.open(place, f"/?l={language}")
    phone.leave("a question")
    parent = id_of_first(phone)
    for words in (one, two):
        place.answer(parent, "an answer", source=OTHER)
        until_said(phone, words)
    phone.follow("#answered")
    assert phone.find("html").get_attribute("lang") == language and len(phone.messages) == 2


def test_own_answers_and_those_to_others_are_no_news(phone, place):
    """An answer of the author is shown to them at once, as a message is; one to a message of somebody else is said
    on its card only."""
    other = fields_of(place.leave("of somebody", source=OTHER).text, "/withdraw")["id"]
    phone.open(place)
    phone.leave("a question")
    parent = id_of_first(phone)
    place.answer(other, "to somebody", source=OTHER)
    phone.follow("#messages li:first-child h3 a")
    phone.leave("I found it myself")
    assert phone.heading == "A message" and phone.text("#said") == "Your message is here"
    assert phone.text("#messages li .badge") == "Yours" and phone.has("#messages .back")
    assert phone.driver.switch_to.active_element == phone.find("#messages > li")
    phone.follow("=Back to the messages")
    until_quiet(phone, place, 1)
    place.answer(parent, "so did I", source=OTHER)
    until_said(phone, "1 new answer")  # the tab still knows the question


def test_an_open_message_gets_answers(phone, place):
    """Nothing moves until its reader wants it; the draft stays; what is taken back goes with the next load."""
    parent = fields_of(place.leave("a question", source=OTHER).text, "/withdraw")["id"]
    phone.open(place, f"/m/{parent}")
    assert "Answers" not in [heading.text for heading in phone.all("h2")]
    phone.fill("#text", "half an ans")
    top = phone.run(WHERE, phone.find("#text"))
    left = [fields_of(place.answer(parent, text, source=source).text, "/withdraw")
            for text, source in (("one", "127.0.0.7"), ("two", "127.0.0.8"))]
    phone.until(lambda: phone.text("#new") == "2 new answers", "the button")
    assert phone.run(WHERE, phone.find("#text")) == top and phone.messages == []
    assert phone.driver.title.startswith("(2) ")
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["one", "two"], "the answers")
    assert "Answers" in [heading.text for heading in phone.all("h2")]
    assert phone.driver.switch_to.active_element.text.startswith("one")
    assert phone.find("#text").get_attribute("value") == "half an ans"
    place.answer(parent, "three", source=OTHER)
    phone.until(lambda: phone.text("#new") == "1 new answer", "the button")
    assert place.post("/withdraw", left[0], "127.0.0.7").status == 200
    phone.until(lambda: not phone.has("#new"), "there are as many as before")
    place.answer(parent, "four", source=OTHER)
    phone.until(lambda: phone.text("#new") == "1 new answer", "the button")
    assert phone.messages == ["one", "two"]
    phone.find("#new").click()
    phone.until(lambda: phone.messages == ["two", "three", "four"], "the new answers")
    assert phone.driver.switch_to.active_element.text.startswith("three")
    phone.find("#text").send_keys("wer")
    phone.follow("form#leave button")
    phone.wait_left()
    assert phone.messages == ["two", "three", "four", "half an answer"]
    phone.check_log()


def test_without_script_a_reload_shows_answers(phone, place):
    phone.script(False)
    parent = fields_of(place.leave("a question", source=OTHER).text, "/withdraw")["id"]
    phone.open(place, f"/m/{parent}")
    place.answer(parent, "one", source=OTHER)
    phone.driver.refresh()
    assert phone.messages == ["one"] and not phone.has("#new")
    phone.follow("=Back to the messages")
    assert "1 answer" in phone.text("#messages > li .meta") and not phone.has("#answered")
    phone.driver.refresh()
    assert not phone.has("#answered")
