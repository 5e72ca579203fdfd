# SPDX-License-Identifier: Apache-2.0
"""The pages in old browsers: Chrome 70 (Android 4.4 and later) and Safari 12 (iPhone 5s, 6).

A Chromium of today gets the style sheets without what those do not know. Where what is known depends on the
version, the older one decides. Sources, by the name of the page: caniuse.com, and the tables of
developer.mozilla.org ("Browser compatibility"):

- css-logical-props: longhands from Chrome 69 and Safari 12.1, shorthands and `inset-*` from Chrome 87 and
  Safari 14.1. Safari 12.0 has none of them, so all go.
- flexbox-gap: from Chrome 84 and Safari 14.1. `gap` of a grid is older (Chrome 66, Safari 12).
- overflow-wrap `anywhere`: from Chrome 80 and Safari 15.4.
- :focus-visible: from Chrome 86 and Safari 15.4. A rule with a selector that is not known goes as a whole.
- `start` and `end` of align-items in a flex box: from Chrome 93; the box-alignment keywords.
- min(), max(), clamp(): from Chrome 79 and Safari 13.1.
- units lh (Chrome 109, Safari 16.4), dvh and the like (108, 15.4); aspect-ratio (88, 15); `inset` (87, 14.1);
  accent-color (93, 15.4); :is(), :where(), :has() (88, 14; 105, 15.4); text after a slash in `content`.
"""

import os
import re

import pytest

from harness import fill_list
from test_desk import conf, desk, log_in, make_desk, open_folder  # noqa: F401 (fixtures)
from test_layout import STICKING_OUT

UNKNOWN = re.compile(
    r"^(?:[a-z-]*-(?:inline|block)(?:-(?:start|end|size|width|style|color))?|(?:min-|max-)?(?:inline|block)-size"
    r"|inset(?:-[a-z-]+)?|aspect-ratio|accent-color|color-scheme|text-underline-offset"
    r"|text-decoration-thickness|forced-color-adjust)$")
UNKNOWN_VALUE = re.compile(r"\b(?:min|max|clamp)\(|\d(?:lh|dvh|svh|lvh)\b|\banywhere\b|\bfit-content\b"
                           r"|\" / \"|^(?:start|end)$")
UNKNOWN_SELECTOR = re.compile(r":focus-visible|:is\(|:where\(|:has\(")
RULE = re.compile(r"([^{}]*)\{([^{}]*)\}")


def is_known(name, value, is_grid):
    if name in ("gap", "row-gap", "column-gap"):
        return is_grid
    if name == "grid-template-columns":
        return True  # minmax()
    return not UNKNOWN.match(name) and not UNKNOWN_VALUE.search(value)


def make_old(css):
    """What is left of a style sheet in an old browser."""
    def rule(match):
        selector, body = match.groups()
        if UNKNOWN_SELECTOR.search(selector):
            return ""
        pairs = [one.partition(":")[::2] for one in body.split(";") if ":" in one]
        pairs = [(name.strip(), value.strip()) for name, value in pairs]
        is_grid = ("display", "grid") in pairs
        return selector + "{" + ";".join(
            f"{name}:{value}" for name, value in pairs if is_known(name, value, is_grid)) + "}"

    # Inside of @media a grid's `gap` goes, too, because its `display` stands elsewhere: that is for print only.
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    return RULE.sub(rule, css)


def test_what_is_taken_away():
    """The stripping itself: a test that strips nothing would find nothing."""
    css = ("a{top:1px;inset-block-start:2px}b{display:flex;gap:1px;margin-inline:auto}c{display:grid;gap:1px}"
           "d:focus-visible{top:0}e{min-height:1em;min-height:1lh;padding-inline-start:1px;inline-size:1px}")
    assert make_old(css) == "a{top:1px}b{display:flex}c{display:grid;gap:1px}e{min-height:1em}"


def grow_old(phone):
    """Gives the page the style of an old browser: in place of the sheets, as they are served."""
    for sheet in phone.all("link[rel=stylesheet]"):
        address = sheet.get_attribute("href")
        text = phone.driver.execute_async_script(
            "fetch(arguments[0]).then((answer) => answer.text()).then(arguments[1])", address)
        phone.run("""
          const [link, css] = arguments, sheet = new CSSStyleSheet();
          sheet.replaceSync(css);
          document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
          link.disabled = true;""", sheet, make_old(text))


# What stands beside each other has a space between; what is in the page does not touch its edge.
GLUED = """
  const out = [], [edge] = arguments;
  const box = (e) => e.getBoundingClientRect();
  const groups = '.meta, .tools, .tools ul, .row, .top, .foot ul, .check';
  for (const group of document.querySelectorAll(groups)) {
    const items = group.matches('div.meta') ? group.querySelectorAll('p > *, :scope > :not(p)') : group.children;
    const shown = [...items].filter((e) => e.checkVisibility() && box(e).width > 0);
    for (let i = 1; i < shown.length; i++) {
      const a = box(shown[i - 1]), b = box(shown[i]);
      const isBeside = a.top < b.bottom - 1 && b.top < a.bottom - 1;
      const space = Math.max(b.left - a.right, a.left - b.right);
      const inside = shown[i].matches('.check label') ? parseFloat(getComputedStyle(shown[i]).paddingLeft) : 0;
      if (isBeside && space + inside < 4) {
        out.push(group.className + ': ' + space + ' px before ' + shown[i].textContent.slice(0, 30));
      }
    }
  }
  for (const element of document.querySelectorAll('main > *, .top > *, .foot > *')) {
    const {left, right, width} = box(element);
    const shows = element.checkVisibility() && width > 1 && !element.matches('.news, .tools');
    if (shows && (left < edge - 0.5 || right > innerWidth - edge + 0.5)) {
      out.push(element.tagName + '.' + element.className + ' touches the edge: ' + left + ' to ' + right);
    }
  }
  const skip = document.querySelector('.skip');
  if (skip && box(skip).bottom > 0) {
    out.push('the skip link is seen: ' + box(skip).top);
  }
  return out;
"""
EDGE = 12  # pixels; of an element with a margin of its own, such as a list in a row, less than 1rem


def look(phone, faults, name):
    grow_old(phone)
    for width in (320, 390):
        phone.width(width)
        faults.add(f"{name} ({width} px)", phone.run(GLUED, EDGE))
        faults.add(f"{name} ({width} px)", phone.run(STICKING_OUT, width))
    folder = os.environ.get("HEARSAY_PICTURES")
    if folder:
        phone.width(320)
        phone.driver.save_screenshot(os.path.join(folder, f"old-{name.replace(' ', '-')}.png"))


@pytest.mark.parametrize("query", ["?l=en", "?l=ar"], ids=["english", "arabic"])
def test_the_pages_of_guests(phone, make_place, faults, query):
    place = make_place("operator = The Bar\nwifi_ssid = Guests\nwifi_password = open sesame\n")
    fill_list(place, 8)
    phone.cdp("Page.setBypassCSP", enabled=True)
    phone.open(place, "/" + query)
    phone.unfold("#leave details")
    look(phone, faults, "list")
    for path in (f"/{query}&t=jazz&now=1&o=near", "/about" + query, "/poster" + query):
        phone.go(path)
        look(phone, faults, path.partition("?")[0].strip("/") or "nearest")
    phone.go("/" + query)
    phone.follow("#messages a")
    phone.unfold("#report")
    phone.unfold("#withdraw")
    look(phone, faults, "message")
    phone.cdp("Page.setBypassCSP", enabled=False)
    faults.check()


def test_the_page_of_moderators(phone, desk, rng, faults):  # noqa: F811
    import test_desk
    phone.cdp("Page.setBypassCSP", enabled=True)
    phone.open(desk)
    look(phone, faults, "login")
    log_in(phone)
    test_desk.fill(desk, rng)
    phone.follow("header button")
    for summary in phone.all("summary"):
        summary.click()
    look(phone, faults, "reported")
    phone.cdp("Page.setBypassCSP", enabled=False)
    faults.check()
