# SPDX-License-Identifier: Apache-2.0
"""No page is wider than a phone, and everything to tap on is large enough: at each width, without
JavaScript and with it."""

import pytest

from harness import OTHER_NAME, fill_list, tour

WIDTHS = (320, 360, 412)
TARGET = 44  # CSS pixels

# What sticks out of the screen, or out of its box. No box scrolls but a field of one line.
STICKING_OUT = """
  const [width] = arguments, out = [];
  if (document.documentElement.scrollWidth > width) {
    out.push('the page: ' + document.documentElement.scrollWidth);
  }
  for (const element of document.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect();
    if (!element.checkVisibility() || element.closest('.unseen, .skip, option') || box.width === 0) {
      continue;
    }
    const name = element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 40);
    if (box.left < -0.5 || box.right > width + 0.5) {
      out.push(name + ' from ' + box.left + ' to ' + box.right);
    }
    if (getComputedStyle(element).display !== 'inline' && !element.closest('svg, input') &&
        element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) {
      out.push(name + ' is ' + element.scrollWidth + ' wide in ' + element.clientWidth);
    }
  }
  return out;
"""

# A field's label is part of what can be tapped on, and so is the card of a message's heading.
SMALL_TARGETS = """
  const [least] = arguments, small = [];
  const targets = 'a[href], button, input:not([type=hidden]), select, textarea, summary';
  for (const element of document.querySelectorAll(targets)) {
    if (!element.checkVisibility() || element.closest('.skip')) {
      continue;
    }
    const boxes = [element.closest('h3') ? element.closest('li') : element, ...(element.labels || [])]
      .map((e) => e.getBoundingClientRect());
    const width = Math.max(...boxes.map((b) => b.right)) - Math.min(...boxes.map((b) => b.left));
    const height = Math.max(...boxes.map((b) => b.bottom)) - Math.min(...boxes.map((b) => b.top));
    if (width < least - 0.5 || height < least - 0.5) {
      small.push(element.outerHTML.slice(0, 120) + ': ' + width + ' x ' + height);
    }
  }
  return small;
"""


@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_every_page_fits(phone, make_place, faults, script):
    phone.script(script)
    for name in tour(phone, make_place):
        for width in WIDTHS:
            phone.width(width)
            faults.add(f"{name} ({width} px)", phone.run(STICKING_OUT, width))
            if name != OTHER_NAME:
                faults.add(f"{name} ({width} px)", phone.run(SMALL_TARGETS, TARGET))
    faults.check()


def test_nothing_moves(phone, place):
    """While the page loads."""
    fill_list(place, 20)
    phone.open(place)
    shifts = phone.run("""
      return new Promise((done) => {
        const seen = [];
        new PerformanceObserver((list) => seen.push(...list.getEntries().map((e) => e.value)))
          .observe({type: 'layout-shift', buffered: true});
        requestAnimationFrame(() => requestAnimationFrame(() => done(seen)));
      })""")
    assert sum(shifts) == 0
