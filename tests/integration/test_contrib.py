# SPDX-License-Identifier: Apache-2.0
"""contrib/prometheus: alerts, their tests and the dashboard speak of figures that there are."""

import json
import os
import re
import shutil
import subprocess

import pytest

import cli_runner
import hearsay_wire as wire
from test_gateway import make_gateway, open_folder  # noqa: F401 (fixtures)
from test_prometheus import parse
from web_runner import make_web  # noqa: F401 (a fixture)

FOLDER = os.path.join(wire.ROOT, "contrib", "prometheus")
PAGE = os.path.join(wire.ROOT, "docs", "operations", "monitoring.md")
BRIDGE = os.environ.get("HEARSAY_BRIDGE", "")
# A bridge of an access point with a hood that is a reader, too; no hub is there.
BRIDGE_LINES = """[bridge]
nats = nats://127.0.0.1:9
name = ap
state = {0}
server = {0}/none.sock
[host lobby]
hood = campus
[reader]
hosts = cafe
"""
RULES, TESTS, DASHBOARD = "hearsay.rules.yml", "hearsay.rules.test.yml", "hearsay-dashboard.json"
# Those that a daemon without TLS and without reports does not have.
ABSENT = {"hearsay_certificate_not_after_timestamp_seconds", "hearsay_host_hides_withheld_total"}
# For who looks, in no alert and no panel.
FOR_PEOPLE = {"hearsay_reload_timestamp_seconds", "hearsay_web_last_reload_timestamp_seconds"}


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def expressions():
    """All of the dashboard, with an interval and an instance in place of the variables."""
    for panel in json.loads(read(DASHBOARD))["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")


def promtool(*args):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("there is no promtool: Debian's package prometheus has it")
    done = subprocess.run([program, *args], capture_output=True, text=True, cwd=FOLDER,
                          timeout=wire.PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def of_bridge(tmp_path):
    """The metrics of hearsay-bridge with their labels."""
    if not BRIDGE:
        pytest.skip("built without hearsay-bridge")
    config = tmp_path / "bridge.conf"
    config.write_text(BRIDGE_LINES.format(tmp_path))
    with subprocess.Popen([BRIDGE, "run", "--config", config], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert any("ready: " in line for line in process.stderr)
            text = subprocess.run([BRIDGE, "status", "--metrics", "--config", config], stdout=subprocess.PIPE,
                                  text=True, timeout=wire.PATIENCE, check=True).stdout
        finally:
            process.terminate()
            process.communicate(timeout=wire.PATIENCE)
    return parse(text)[0].keys()


@pytest.fixture
def figures(make_web):  # noqa: F811
    """Of hearsayd and hearsay-web: the metrics with their labels."""
    web = make_web("listen = 127.0.0.3:0 metrics\n")
    port = int(web.wait_log(r"listening on 127\.0\.0\.3:(\d+) metrics").group(1))
    own = web.gateway.daemon
    text = cli_runner.of_daemon(own, own.socket_path).ok("admin", "stats", "--prometheus")
    web.address, guests, web.port = "127.0.0.3", web.port, port
    text += web.get("/metrics").text
    web.address, web.port = "127.0.0.1", guests
    return parse(text)[0].keys()


def test_every_figure_exists(figures):
    names = {metric for metric, _ in figures} | ABSENT
    for file in (RULES, TESTS, DASHBOARD):
        for name in re.findall(r"\bhearsay_(?!bridge_)[a-z_]+", read(file)):
            assert name in names, f"{file}: {name}"


def test_every_figure_of_the_bridge_exists_and_is_described(of_bridge):
    names = {metric for metric, _ in of_bridge}
    for file in (RULES, TESTS, DASHBOARD):
        for name in re.findall(r"\bhearsay_bridge_[a-z_]+", read(file)):
            assert name in names, f"{file}: {name}"
    with open(PAGE, encoding="utf-8") as file:
        section = file.read().split("### Figures of the bridge\n")[1].split("\n#")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    described = re.findall(r"`([a-z_]+)`(\*?)", " ".join(rows))
    offered = {(metric.removeprefix("hearsay_bridge_"), "*" if labels else "") for metric, labels in of_bridge}
    assert sorted(described) == sorted(offered)


def test_the_dashboard_shows_what_alerts_of_the_bridge_go_by():
    found, shown = (set(re.findall(r"\bhearsay_bridge_[a-z_]+", read(file))) for file in (RULES, DASHBOARD))
    assert found and found <= shown


def test_every_label_exists(figures):
    """An expression that asks for another value finds nothing, and no alert fires."""
    text = " ".join([read(RULES), *expressions()])
    matchers = re.findall(r"\b(hearsay_[a-z_]+)\{([^}]*)\}", text)
    seen = 0
    for metric, labels in matchers:
        for label, values in re.findall(r'([a-z]+)=~?"([^"]*)"', labels):
            there = {dict(pairs).get(label) for name, pairs in figures if name == metric}
            if label != "instance":  # of Prometheus
                seen += 1
                assert set(values.split("|")) <= there, f"{metric}: {label} {values}"
    assert seen >= 4


def test_every_figure_is_used(figures):
    """Each series costs storage: what no alert and no panel uses is not offered, but for a few."""
    used = re.findall(r"\bhearsay_(?!bridge_)[a-z_]+", " ".join([read(RULES), read(DASHBOARD)]))
    bases = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
    offered = {re.sub("_(bucket|sum|count)$", "", metric) for metric, _ in figures}
    assert {name for name in offered - bases if name.startswith("hearsay_")} == FOR_PEOPLE


def test_every_alert_has_a_test():
    alerts = re.findall(r"- alert: (\w+)", read(RULES))
    fired = re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- ", read(TESTS))
    assert len(alerts) == len(set(alerts)) and set(alerts) == set(fired)


def test_panels_do_not_overlap():
    panels = json.loads(read(DASHBOARD))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_dashboard_has_the_fields_that_grafana_documents():
    """Grafana itself is not here: this is what its documentation says of the JSON model."""
    dashboard = json.loads(read(DASHBOARD))
    assert isinstance(dashboard["schemaVersion"], int) and dashboard["title"] and dashboard["uid"]
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert variables["instance"]["datasource"] == source
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24 and place["h"] >= 1, panel["title"]
        assert panel["type"] in ("row", "stat", "timeseries")
        if panel["type"] != "row":
            references = [target["refId"] for target in panel["targets"]]
            assert references and len(set(references)) == len(references)
            assert all(one["datasource"] == source for one in [panel, *panel["targets"]])
            used = set(re.findall(r"\$(\w+)", json.dumps(panel["targets"])))
            assert used <= {"instance", "__rate_interval"}, panel["title"]


def test_no_panel_shows_what_is_not_so():
    """A timer writes the figures of hearsayd each minute. A rate over a shorter window than 4 minutes, the
    least with a step of a minute, jumps between 0 and too much. The last value of a day is not the
    value of now. Two machines are two lines with different names."""
    for panel in json.loads(read(DASHBOARD))["panels"]:
        for target in panel.get("targets", []):
            expression, legend = target["expr"], target["legendFormat"]
            of_daemon = "$__rate_interval" in expression and "hearsay_web_" not in expression
            assert target.get("interval") == ("1m" if of_daemon else None), panel["title"]
            assert "increase(" not in expression, f"{panel['title']}: depends on the zoom"
            assert target.get("instant", False) == (panel["type"] == "stat"), panel["title"]
            if not re.search(r"\bsum by", expression) and panel["title"] != "Version":
                assert "{{instance}}" in legend, panel["title"]


def test_promtool_takes_the_rules():
    assert "SUCCESS" in promtool("check", "rules", RULES)


def test_promtool_tests_the_rules():
    assert "SUCCESS" in promtool("test", "rules", TESTS)


def test_promtool_takes_the_expressions_of_the_dashboard(tmp_path):
    rules = [{"record": f"dashboard:{number}", "expr": expression}
             for number, expression in enumerate(expressions())]
    file = tmp_path / "dashboard.yml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", str(file))
