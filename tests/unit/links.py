#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages for readers: links, anchors, names of files, and length.

In every .md file of the repository
  - a relative link names a file or folder that exists, and its #anchor a heading of that page;
  - a name in backticks that begins with a folder of ours, such as `core/tree/walk.h`, exists. It may
    be a folder, a pattern (`core/tree/*.c`), or a module without its ending (`core/filter/bloom`).
The Debian packages have the pages for operators that README names, and those that these lead to.
Pages of docs/ have 200 lines or so (LINES_MAX); docs/notes/ and the pages in LONG may be longer.
"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = "client|core|daemon|docs|proto|scripts|systemd|tests"
LINES_MAX = 250
LONG = ("docs/protocol.md", "docs/reliability.md")  # every field; every attack and the last run
TO_COME = ("client/web/", "client/bridge/")  # CONTRIBUTING.md has their rooms already
HISTORY = ("docs/notes/findings-0.1.0.md", "NEWS.md")  # they name files as they were

FENCE = re.compile(r"^( *)```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(\s*([^)\s]+)\s*\)")
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]*)`")


def pages():
    """Does not look into build directories, where other tests remove folders meanwhile."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "build")))
        yield from (pathlib.Path(folder, name) for name in sorted(names) if name.endswith(".md"))


def anchors(text):
    """As GitHub makes them from the headings; a repeated one gets a number."""
    seen = {}
    for title in re.findall(r"^#+ +(.*)$", FENCE.sub("", text), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = seen[name] = seen.get(name, -1) + 1
        yield f"{name}-{count}" if count else name


def link_is_right(page, link):
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target.read_text("utf-8")))


def path_exists(name):
    return (ROOT / name).exists() or any(ROOT.glob(name)) or any(ROOT.glob(name + ".*"))


def pages_of_row(text):
    """What each row of README's table of pages names."""
    return {row: {link.partition("#")[0] for link in LINK.findall(links)}
            for row, links in re.findall(r"^\| ([^|]+) \| (.*) \|$", text, re.MULTILINE)}


def not_packaged():
    """Pages for operators, and pages of nobody else that these link, which no package has."""
    rows = pages_of_row((ROOT / "README.md").read_text("utf-8"))
    wanted = rows.pop("operators")
    for page in sorted(wanted):
        linked = {os.path.normpath(pathlib.Path(page).parent / link.partition("#")[0])
                  for link in LINK.findall((ROOT / page).read_text("utf-8"))}
        wanted |= {link for link in linked if re.fullmatch(r"docs/[\w-]+\.md", link)} - set().union(*rows.values())
    packaged = [line for file in ROOT.glob("packaging/debian/*.docs") for line in file.read_text("utf-8").split()]
    return sorted(page for page in wanted if not {page, os.path.dirname(page)} & set(packaged))


def main():
    wrong = [f"packaging/debian/*.docs: no package has {page}" for page in not_packaged()]
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        text = page.read_text("utf-8")
        prose = FENCE.sub("", text)
        for link in LINK.findall(prose):
            if not re.match(r"\w+:", link) and not link_is_right(page, link):
                wrong.append(f"{name}: the link {link} leads nowhere")
        if name not in HISTORY:
            wrong += [f"{name}: there is no {path}" for path in PATH.findall(prose)
                      if "MODULE" not in path and path not in TO_COME and not path_exists(path)]
        if name.startswith("docs/") and not name.startswith("docs/notes/") and name not in LONG \
                and text.count("\n") > LINES_MAX:
            wrong.append(f"{name}: {text.count(chr(10))} lines; move notes to docs/notes/")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
