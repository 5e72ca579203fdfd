# SPDX-License-Identifier: Apache-2.0
"""axe-core finds nothing on any page, light and dark.

npm installs it below the build directory and checks the hash of package-lock.json."""

import os
import shutil
import subprocess

import pytest

from harness import topics_tour, tour

HERE = os.path.dirname(os.path.abspath(__file__))
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """
  const [tags, done] = arguments;
  axe.run({runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']}).then(
    (found) => done([found.passes.length, found.violations.map((one) =>
      one.id + ': ' + one.help + '\\n' + one.nodes.map((node) =>
        '    ' + node.html.slice(0, 200) + '\\n    ' + node.failureSummary).join('\\n'))]),
    (error) => done([0, [String(error)]]));
"""


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core."""
    folder = os.path.join(os.path.abspath(os.environ.get("HEARSAY_TEST_DIR", ".")), "axe")
    source = os.path.join(folder, "node_modules", "axe-core", "axe.min.js")
    if not os.path.exists(source):
        if shutil.which("npm") is None:
            pytest.skip("axe-core is not here: there is no npm")
        os.makedirs(folder, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, name), folder)
        done = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
             "--fetch-timeout=20000"],
            cwd=folder, capture_output=True, text=True, check=False)
        assert "EINTEGRITY" not in done.stderr, done.stderr
        if done.returncode != 0:
            pytest.skip(f"axe-core is not here: npm: {' '.join(done.stderr.split())[:200]}")
    with open(source, encoding="utf-8") as file:
        return file.read()


def look(phone, faults, axe, name, schemes):
    phone.cdp("Emulation.setScriptExecutionDisabled", value=False)  # axe's; the page has been loaded without
    phone.run(axe)
    for scheme in schemes:
        phone.media(prefers_color_scheme=scheme)
        passed, violations = phone.driver.execute_async_script(RUN, TAGS)
        assert passed > 10 or violations, name
        faults.add(f"{name} ({scheme})", violations)
    phone.script(phone.has_script)


@pytest.mark.parametrize("query, schemes", [("", ("light", "dark")), ("?l=ar", ("light",))],
                         ids=["english", "arabic"])
def test_axe_finds_nothing(phone, make_place, faults, axe, query, schemes):
    phone.cdp("Page.setBypassCSP", enabled=True)
    for name in tour(phone, make_place, query):
        look(phone, faults, axe, name, schemes)
    faults.check()


@pytest.mark.parametrize("query, script", [("?l=en", False), ("?l=en", True), ("?l=ar", True)],
                         ids=["plain", "script", "arabic"])
def test_axe_finds_nothing_with_topics(phone, make_place, faults, axe, query, script):
    phone.cdp("Page.setBypassCSP", enabled=True)
    phone.script(script)
    for name in topics_tour(phone, make_place, query):
        look(phone, faults, axe, name, ("light", "dark"))
    faults.check()
