# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: a file whose cases were all skipped ends with 77, which meson shows as SKIP.

pytest itself ends with 0, so meson would show OK although nothing has been tested.
"""

MESON_SKIP = 77


def pytest_sessionfinish(session, exitstatus):
    outcomes = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus == 0 and outcomes.get("skipped") and not (outcomes.get("passed") or outcomes.get("xfailed")):
        session.exitstatus = MESON_SKIP
