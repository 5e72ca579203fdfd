# SPDX-License-Identifier: Apache-2.0
"""Reads tables and numbers out of pages in Markdown."""
import re

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?")


def sections(path):
    """{heading: lines of the section without its subsections}; the lines before all headings are ""."""
    found = {"": []}
    lines = found[""]
    fenced = False
    for line in path.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            lines = found.setdefault(line.lstrip("#").strip(), [])
        lines.append(line)
    return found


def table(path, heading, number):
    """The rows of one table of a section, each a list of cells; the first row is the header.
    `number` counts the tables of the section from 0."""
    lines = sections(path).get(heading)
    if lines is None:
        raise LookupError(f"{path}: there is no heading {heading}")
    tables, rows = [], []
    for line in [*lines, ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            tables.append([row for row in rows if not all(re.fullmatch(":?-+:?", cell) for cell in row)])
            rows = []
    if number >= len(tables):
        raise LookupError(f"{path}, {heading}: there is no table {number}")
    return tables[number]


def numbers(text):
    """The numbers of a text as texts, without the commas that group digits. A number after a letter
    (as in k10) is a name."""
    return [number.replace(",", "").rstrip(".") for number in NUMBER.findall(text.replace("**", ""))]
