# SPDX-License-Identifier: Apache-2.0
"""The pages for people who see or type in another way."""

import itertools

from selenium.webdriver.common.keys import Keys

from harness import fill_list, topics_tour, tour
from test_layout import STICKING_OUT

# WCAG 1.4.12. A style sheet that is built is no inline style, which the pages refuse.
SPACING = """
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: .12em !important;
    word-spacing: .16em !important } p { margin-block-end: 2em !important }`);
  document.adoptedStyleSheets = [sheet];
"""


MOVING = """
  return [...document.querySelectorAll('*')].filter((e) => {
    const style = getComputedStyle(e);
    return style.transitionDuration !== '0s' || style.animationName !== 'none' ||
      style.scrollBehavior === 'smooth' || e.getAnimations().length > 0;
  }).map((e) => e.tagName + '.' + e.className);
"""


# --- seeing ---------------------------------------------------------------------------------------


def test_zoom_spacing_and_motion(phone, make_place, faults):
    """400 % of a screen of 1280 x 1024, which leaves 320 x 256; then with more space between lines, words
    and letters. Nothing moves by itself."""
    phone.width(320, height=256, scale=4)
    phone.media(prefers_reduced_motion="reduce")
    pages = (tour(phone, make_place), topics_tour(phone, make_place, "?l=en"), topics_tour(phone, make_place, "?l=ar"))
    for name in itertools.chain(*pages):
        faults.add(f"{name} (zoom)", phone.run(STICKING_OUT, phone.screen))
        phone.run(SPACING)
        faults.add(f"{name} (spacing)", phone.run(STICKING_OUT, phone.screen))
        faults.add(f"{name} (motion)", phone.run(MOVING))
    faults.check()


def test_dark_and_light(phone, place):
    colours = {}
    for scheme in ("light", "dark"):
        phone.media(prefers_color_scheme=scheme)
        phone.open(place)
        colours[scheme] = phone.run("""
          const style = getComputedStyle(document.body);
          return [style.backgroundColor, style.color].map((colour) =>
            colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));""")
    assert colours["light"][0] > 600 > 200 > colours["light"][1]
    assert colours["dark"][0] < 200 < 600 < colours["dark"][1]


def test_forced_colours(phone, place):
    """What says something by its colour alone says it in another way, too."""
    place.leave("one", source="127.0.0.10", t="jazz")
    phone.media(forced_colors="active")
    phone.open(place, "/?t=jazz&o=near")
    current, other = (phone.run("return getComputedStyle(arguments[0]).outlineStyle", chip)
                      for chip in (phone.find("=Nearest"), phone.find("=Newest")))
    assert current == "solid" and other == "none"
    for selector in (".button", ".chip", "textarea", ".list > li"):
        assert phone.run("return getComputedStyle(arguments[0]).borderTopStyle",
                         phone.find(selector)) == "solid", selector
    phone.find("body").send_keys(Keys.TAB)
    assert phone.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"


# --- typing ---------------------------------------------------------------------------------------

# Where the focus is: what has it, whether one can see it there, and whether a line shows it.
FOCUS = """
  const element = document.activeElement, box = element.getBoundingClientRect();
  if (element === document.body || element === document.documentElement) { return null; }
  const style = getComputedStyle(element);
  const points = [[.5, .5], [.02, .5], [.98, .5], [.5, .02], [.5, .98]].map(([x, y]) =>
    document.elementFromPoint(box.left + x * box.width, box.top + y * box.height));
  const labels = [...(element.labels || [])];
  window.seenFocus = window.seenFocus || new Map();
  const isNew = !seenFocus.has(element);
  seenFocus.set(element, true);
  return {html: element.outerHTML.slice(0, 100), isNew,
    isSeen: points.some((p) => p && (element.contains(p) || p.contains(element) &&
      p.tagName === 'SUMMARY' || labels.includes(p))),
    hasLine: style.outlineStyle === 'auto' || style.outlineStyle !== 'none' &&
      parseFloat(style.outlineWidth) >= 2};
"""
TARGETS = """
  const groups = new Set();
  return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
    .filter((e) => e.checkVisibility() && !e.disabled)
    .filter((e) => {
      if (e.type !== 'radio') { return true; }
      const isFirst = !groups.has(e.name);
      groups.add(e.name);
      return isFirst;
    }).length;
"""


def press(phone, *keys):
    phone.driver.switch_to.active_element.send_keys(*keys)


def walk(phone):
    """Goes through a page by the key Tab; yields what is wrong on the way."""
    phone.run("""
      window.seenFocus = undefined;
      document.body.tabIndex = -1;
      document.body.focus();  // Tab begins at the top
      document.body.removeAttribute('tabindex');""")
    seen = 0
    wanted = phone.run(TARGETS)
    for _ in range(wanted + 5):
        press(phone, Keys.TAB)
        focus = phone.run(FOCUS)
        if focus is None or not focus["isNew"]:
            break
        seen += 1
        if not focus["isSeen"] or not focus["hasLine"]:
            yield str(focus)
    if seen < wanted:
        yield f"Tab comes to {seen} of {wanted}"


def test_the_keyboard_comes_everywhere(phone, make_place, faults):
    """What has the focus can be seen, and has a line around it."""
    for name in tour(phone, make_place):
        faults.add(name, walk(phone))
    faults.check()


def test_the_button_for_new_messages_hides_no_focus(phone, place, faults):
    fill_list(place, 20)
    phone.open(place)
    place.leave("new", source="127.0.0.9")
    phone.until(lambda: phone.has("#new"), "the button")
    faults.add("list", walk(phone))
    faults.check()


def tab_to(phone, selector):
    """Presses Tab until that has the focus."""
    wanted = phone.find(selector)
    for _ in range(80):
        press(phone, Keys.TAB)
        if phone.driver.switch_to.active_element == wanted:
            return
    raise AssertionError(f"Tab does not come to {selector}")


def test_tasks_by_keyboard(phone, place):
    """Leaving, reading, reporting, taking back: by Tab, Enter, Space and arrows alone."""
    phone.open(place)
    press(phone, Keys.TAB, Keys.ENTER)  # the link that skips to the content
    assert phone.driver.switch_to.active_element.get_attribute("id") == "main"
    press(phone, Keys.TAB)
    assert phone.driver.switch_to.active_element.get_attribute("id") == "text"
    press(phone, "by keyboard")
    tab_to(phone, "#leave summary")
    press(phone, Keys.ENTER)
    tab_to(phone, "#t")
    press(phone, "jazz")
    tab_to(phone, "#now")
    press(phone, Keys.SPACE)
    tab_to(phone, "#leave .send")
    phone.follow("#leave .send", act=lambda _: press(phone, Keys.ENTER))
    phone.wait_left()
    assert phone.messages == ["by keyboard"]
    assert phone.driver.switch_to.active_element == phone.find("#messages > li")
    tab_to(phone, "#messages a")
    phone.follow("#messages a", act=lambda _: press(phone, Keys.ENTER))
    tab_to(phone, "#report summary")
    press(phone, Keys.ENTER)
    tab_to(phone, "#report [name=why]")
    press(phone, Keys.SPACE)
    press(phone, Keys.ARROW_DOWN)
    tab_to(phone, "#report button")
    phone.follow("#report button", act=lambda _: press(phone, Keys.ENTER))
    assert phone.heading == "Thank you"
    phone.driver.back()
    tab_to(phone, "#withdraw button")  # the form is open, and has the code
    phone.follow("#withdraw button", act=lambda _: press(phone, Keys.ENTER))
    assert phone.heading == "Taken back"
