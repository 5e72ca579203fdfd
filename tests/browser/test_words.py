# SPDX-License-Identifier: Apache-2.0
"""The words of the pages: as they are read out, and in other languages."""

import difflib
import os
import re

from harness import tour
from test_layout import STICKING_OUT

HERE = os.path.dirname(os.path.abspath(__file__))
PSEUDO = os.environ.get("HEARSAY_WEB_PSEUDO", "")
TREE = os.path.join(HERE, "tree.txt")

# --- listening ------------------------------------------------------------------------------------

MASKS = (
    (r"\b[A-Z2-7]{26}\b", "CODE"),
    (r"(http://[a-z.]+|\blan):\d+", r"\1:PORT"),
    (r"\?p=[0-9a-f]{6}", "?p=STORE"),
    (r"just now|\d+ min ago", "AGO"),
    (r"\bin \d+ (min|h|days?)\b", "IN TIME"),
)


def tree_of(phone):
    """Roles and names, as they are read out."""
    nodes = phone.cdp("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}
    lines = []

    def write(node, depth):
        role = node.get("role", {}).get("value", "")
        name = node.get("name", {}).get("value", "")
        if role == "InlineTextBox":
            return
        shows = not node.get("ignored") and role not in ("none", "generic")
        if shows and not (role == "StaticText" and lines and lines[-1].endswith(f' "{name}"')):
            lines.append("  " * depth + role + (f' "{name}"' if name else ""))
        for child in node.get("childIds", []):
            if child in by_id:
                write(by_id[child], depth + (1 if shows else 0))

    write(nodes[0], 0)
    text = "\n".join(lines)
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text


def test_the_pages_as_they_are_read_out(phone, make_place):
    """With HEARSAY_UPDATE=1 the file is written anew; read the difference."""
    text = "".join(f"--- {name} ---\n{tree_of(phone)}\n\n" for name in tour(phone, make_place))
    if os.environ.get("HEARSAY_UPDATE"):
        with open(TREE, "w", encoding="utf-8") as file:
            file.write(text)
    with open(TREE, encoding="utf-8") as file:
        wanted = file.read()
    assert text == wanted, "\n".join(
        difflib.unified_diff(wanted.splitlines(), text.splitlines(), "tree.txt", "now", lineterm=""))


# --- languages ------------------------------------------------------------------------------------


def test_arabic_runs_from_the_right(phone, make_place, faults):
    for name in tour(phone, make_place, "?l=ar"):
        assert phone.run("return getComputedStyle(document.documentElement).direction") == "rtl"
        assert phone.find("html").get_attribute("lang") == "ar", name
        for width in (320, 412):
            phone.width(width)
            faults.add(f"{name} ({width} px)", phone.run(STICKING_OUT, width))
        chips = phone.all("nav .chip")
        if chips:
            assert chips[0].rect["x"] > chips[1].rect["x"], name
    faults.check()


# Texts of the page that are in no language file: those of people, of the place, names and numbers.
UNTRANSLATED = """
  const out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (/[a-z]{2}/i.test(node.data) && !/[áçéğïñöšúýÁÇÉĞÏÑÖŠÚÝ]/.test(node.data) &&
        !parent.closest('.text, #messages div, #house p, bdi, .code, textarea, [lang]:not(html), noscript, svg')) {
      out.push(parent.tagName + ': ' + node.data.trim());
    }
  }
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]')) {
    for (const name of ['aria-label', 'title', 'placeholder', 'alt']) {
      const text = !element.matches('.back') && element.getAttribute(name); // that of a message
      if (text && !/[áçéğïñöšúýÁÇÉĞÏÑÖŠÚÝ]/.test(text)) { out.push(name + ': ' + text); }
    }
  }
  return out;
"""


def test_a_longer_language(phone, make_place, faults):
    """With texts 40 % longer, from the right, nothing is cut off, and nothing is untranslated."""
    phone.width(320)
    for name in tour(phone, make_place, "?l=qps", program=PSEUDO):
        assert phone.find("html").get_attribute("lang") == "qps", name
        assert phone.find("html").get_attribute("dir") == "rtl", name
        faults.add(name, phone.run(STICKING_OUT, phone.screen))
        faults.add(name, phone.run(UNTRANSLATED))
    faults.check()
