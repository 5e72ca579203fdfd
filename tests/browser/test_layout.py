# SPDX-License-Identifier: Apache-2.0
"""No page is wider than a phone, and everything to tap on is large enough: at each width, without
JavaScript and with it."""

import json
import os
import statistics

import pytest

from harness import OTHER_NAME, fill_list, page_path, tour

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


def test_what_lies_over_the_page_leaves_half_of_it(phone, place):
    """In the largest text, on a small phone, with all that can lie there; and all of that can be reached."""
    phone.before_each_page("""
      const slow = setTimeout;
      window.setTimeout = (act, ms) => slow(act, ms === 10000 ? 100 : ms);""")  # until "Not connected"
    phone.text_size(32)
    phone.width(320, height=568)
    phone.open(place)
    phone.leave("Who has a ladder?")
    place.answer(page_path(phone.find("#messages h3 a").get_attribute("href"))[3:], "I have one.", source="127.0.0.9")
    place.leave("Is there a piano?", source="127.0.0.9")
    phone.until(lambda: phone.has("#new") and phone.has("#answered"), "what is new")
    place.stop()
    phone.until(lambda: "Not connected" in phone.text("#said"), "that the page is not connected")
    assert phone.find(".news").rect["height"] <= 568 / 2
    for selector in ("#said", "#new", "#answered"):
        assert phone.run("""
          const [element] = arguments;
          element.scrollIntoView({block: 'end'});
          const box = element.getBoundingClientRect();
          return document.elementFromPoint(box.left + 30, box.bottom - 30) === element;""", phone.find(selector)), selector
    assert phone.run(STICKING_OUT, 320) == []


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


# --- the first visit ------------------------------------------------------------------------------

# A phone on a slow network, as Lighthouse has it: bytes a second, milliseconds.
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
LOADS = int(os.environ.get("HEARSAY_LOADS", "1"))  # docs/notes/web.md has the median of more


def first_visit(phone, place):
    """Seconds to the first paint, and of how many requests the longest chain is that was answered before it:
    each waits for a round trip, and for the one whose answer named it."""
    phone.driver.get("about:blank")
    phone.cdp("Network.clearBrowserCache")
    phone.driver.get_log("performance")
    phone.open(place)
    phone.until(lambda: phone.run("return performance.getEntriesByName('first-contentful-paint').length"),
                "the first paint")
    seconds = phone.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
    chains, urls, answered, began = {}, {}, [], None
    for entry in phone.driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        what = message["params"]
        if message["method"] == "Network.requestWillBeSent" and what["request"]["url"].startswith("http"):
            began = began or what["timestamp"]
            url = urls[what["requestId"]] = what["request"]["url"]
            chains[url] = chains.get(cause_of(what["initiator"]), 0) + 1
        elif (message["method"] == "Network.responseReceived" and what["requestId"] in urls and
              what["timestamp"] - began <= seconds):
            answered.append(chains[urls[what["requestId"]]])
    return seconds, max(answered)


def cause_of(initiator):
    """The address of what asked for something: a page by its elements, or a script."""
    frames = initiator.get("stack", {}).get("callFrames", [])
    return frames[0]["url"] if frames else initiator.get("url")


def test_two_round_trips_before_the_first_paint(phone, make_place):
    """With as many messages as fit a page, and topics. The connections are not counted."""
    place = make_place("title = Caf\u00e9 Central\ntopics = coffee, music, lost + found\n")
    for number in range(20):
        place.leave(f"{number:03d} " + "with words " * 17, source=f"127.0.1.{number + 1}", t="coffee, music")
    phone.width(360)
    phone.cdp("Network.enable")
    phone.cdp("Network.emulateNetworkConditions", **SLOW)
    phone.cdp("Emulation.setCPUThrottlingRate", rate=4)
    visits = [first_visit(phone, place) for _ in range(LOADS)]
    print(f"\nfirst paint: {statistics.median(seconds for seconds, _ in visits):.2f} s, median of {LOADS}: "
          + " ".join(f"{seconds:.2f}" for seconds, _ in visits))
    assert {chain for _, chain in visits} == {2}
