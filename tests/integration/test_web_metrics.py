# SPDX-License-Identifier: Apache-2.0
"""hearsay-web's own figures for Prometheus: where /metrics is, where it is not, what it says."""

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import conftest
import hearsay_wire as wire
from test_gateway import make_gateway, open_folder  # noqa: F401 (fixtures)
from test_prometheus import parse, value
from test_service import needs_systemd
from web_runner import HEARSAY_WEB, NAME, USER, make_web  # noqa: F401 (a fixture)

SERIES = 37
LABELS = {"code": re.compile("[1-5][0-9][0-9]|other"), "version": re.compile(r"[0-9]+\.[0-9]+\.[0-9]+"),
          "le": re.compile(r"[0-9.]+(e-05)?|\+Inf")}


@pytest.fixture
def web(make_web):  # noqa: F811
    made = make_web("listen = 127.0.0.3:0 metrics\n")
    made.guests = made.port
    made.metrics = int(made.wait_log(r"listening on 127\.0\.0\.3:(\d+) metrics").group(1))
    return made


def ask(web, path="/metrics", method="GET", host=None):
    """An answer of the listener for metrics."""
    web.address, web.port = "127.0.0.3", web.metrics
    try:
        return web.request(method, path, host=host or f"127.0.0.3:{web.metrics}")
    finally:
        web.address, web.port = "127.0.0.1", web.guests


def look(web):
    answer = ask(web)
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(answer.text)[0]


def test_the_figures_are_those_of_what_was_done(web):
    before = look(web)
    assert value(before, "hearsay_web_upstream_connected") == 1
    assert value(before, "hearsay_web_event_streams") == 0
    for _ in range(3):
        assert web.get().status == 200
    assert web.get("/nowhere").status == 404
    events = web.events()
    after = look(web)
    name = "hearsay_web_answers_total"
    assert value(after, name, code="404") == 1
    # three pages, the stream, and the look before
    assert value(after, name, code="200") - value(before, name, code="200") == 5
    assert value(after, name, code="503") == value(before, name, code="503")
    assert value(after, "hearsay_web_event_streams") == 1
    assert value(after, "hearsay_web_connections") >= 2
    durations = "hearsay_web_answer_duration_seconds"
    assert value(after, durations + "_count") - value(before, durations + "_count") == 5
    assert value(after, durations + "_sum") > 0
    counts = [count for (metric, _), count in after.items() if metric == durations + "_bucket"]
    assert counts == sorted(counts) and len(counts) == 7
    assert counts[-1] == value(after, durations + "_count")
    events.close()


def test_refused_connections_are_counted(web):
    """Of one address there may be eight connections that are not idle."""
    streams = []

    def one_more():
        with contextlib.suppress(OSError):  # it is refused
            streams.append(socket.create_connection(("127.0.0.1", web.guests), source_address=("127.0.0.9", 0)))
            streams[-1].sendall(f"POST /leave HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 9\r\n\r\n".encode())
        return value(look(web), "hearsay_web_connections_refused_total") >= 4

    wire.wait_until(one_more, "four were refused")
    assert len(streams) >= 12
    for stream in streams:
        stream.close()


def test_a_reload_that_was_refused(web):
    assert value(look(web), "hearsay_web_last_reload_successful") == 1
    with open(web.file, "a", encoding="utf-8") as file:
        file.write("per_page = many\n")
    web.process.send_signal(signal.SIGHUP)
    web.wait_log("configuration not reloaded")
    assert value(look(web), "hearsay_web_last_reload_successful") == 0


def test_guests_have_no_metrics_and_metrics_no_page(web):
    assert web.get("/metrics").status == 404
    for path in ("/", "/events", "/about", "/metrics/", "/healthz", "/s/"):
        answer = ask(web, path)
        assert (answer.status, answer.text) == (404, ""), path
    assert ask(web, method="POST").status == 404
    head = ask(web, method="HEAD")
    assert head.status == 200 and head.text == ""


def test_other_names_get_no_figures(web):
    """A page in a browser of the operator cannot lead its own name here (DNS rebinding)."""
    ours = [f"127.0.0.3:{web.metrics}", f"localhost:{web.metrics}", f"{NAME}:{web.metrics}"]
    for host in ours:
        assert ask(web, host=host).status == 200, host
    for host in ("prometheus.example", f"prometheus.example:{web.metrics}", "127.0.0.3", NAME,
                 f"127.0.0.3:{web.guests}", f"127.0.0.1:{web.metrics}", f"{NAME}:{web.guests}"):
        answer = ask(web, host=host)
        assert answer.status == 421 and "hearsay_web" not in answer.text, host
    assert "`listen` line with the word metrics" in answer.text
    # The guests' page is not to be had by the names of the figures, either.
    assert web.get(host=f"127.0.0.3:{web.metrics}").status == 421


def test_the_pages_name_is_that_of_the_guests_listener(make_web):  # noqa: F811
    """Also if the listener for metrics has a fixed port: the code on the poster has the page's."""
    web = make_web("listen = 127.0.0.3:0 metrics\nname = board.lan\nname = hearsay.lan\n")
    assert f"board.lan:{web.port}" in web.get("/poster").text.replace("<wbr>", "")


def test_labels_and_number_of_series(web):
    """No label carries an address, a context or an id."""
    assert web.leave("coffee upstairs", source="127.0.0.7").status == 200
    assert web.get("/?t=coffee", source="127.0.0.7").status == 200
    text = ask(web).text
    found, types = parse(text)
    for metric, labels in found:
        for name, said in labels:
            assert LABELS[name].fullmatch(said), (metric, name, said)
    assert len(found) == SERIES
    assert set(types.values()) == {"counter", "gauge", "histogram"}
    for word in ("127.0.0", "coffee", web.gateway.path):
        assert word not in text


@pytest.mark.parametrize(("lines", "sentence"), [
    ("listen = 0.0.0.0:9118 metrics", "would be every address, the guests' ones too"),
    ("listen = [::]:9118 metrics", "would be every address, the guests' ones too"),
    ("listen = 192.168.8.1:80\nlisten = 192.168.8.1:9118 metrics",
     "192.168.8.1:9118 metrics: guests reach their page at this address"),
    ("listen = 10.0.7.1:9118 metrics\nlisten = 0.0.0.0:80",
     "10.0.7.1:9118 metrics: guests reach their page at this address"),
    ("listen = [fd00::1]:80\nlisten = [fd00::1]:9118 metrics",
     "[fd00::1]:9118 metrics: guests reach their page at this address"),
    ("listen = 127.0.0.1:9118 metrics", "all lines are for metrics"),
    ("listen = /run/x metrics", "metrics are for an address and a port without a proxy"),
    ("listen = 127.0.0.1:9118 proxied metrics", "metrics are for an address and a port without"),
    ("listen = 127.0.0.1:9118 figures", "`figures` may not follow an address; proxied, metrics, freebind and senders=address may"),
])
def test_listeners_that_are_refused(tmp_path, lines, sentence):
    code, err = check(tmp_path, lines)
    assert code == 2 and sentence in err, err


@pytest.mark.parametrize("lines", [
    "listen = 192.168.8.1:80\nlisten = 127.0.0.1:9118 metrics",
    "listen = 0.0.0.0:80\nlisten = 127.0.0.1:9118 metrics",
    "listen = 0.0.0.0:80\nlisten = [fd00:7::1]:9118 metrics",
    "listen = 192.168.8.1:80\nlisten = 10.0.7.1:9118 metrics",
    "listen = 127.0.0.1:7118\nlisten = 127.0.0.1:9118\tmetrics",
    "listen = 192.168.8.1:80 freebind\nlisten = 10.0.7.1:9118 freebind metrics",
    "listen = 192.168.8.1:80 freebind\nlisten = 10.0.7.1:9118 metrics freebind",
])
def test_listeners_that_are_taken(tmp_path, lines):
    code, err = check(tmp_path, lines)
    assert code == 0 and " metrics" not in err, err


def check(folder, lines):
    """--check-config: its exit code, and what it says."""
    file = folder / "web.conf"
    file.write_text(f"[web]\n{lines}\nserver = {folder}/none.sock\n{USER}")
    done = subprocess.run([conftest.program(HEARSAY_WEB), "--config", str(file), "--check-config"],
                          capture_output=True, text=True, timeout=wire.PATIENCE, check=False)
    return done.returncode, done.stderr


def test_promtool_has_no_complaint(web):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool: Debian's package prometheus has it")
    done = subprocess.run([promtool, "check", "metrics"], input=ask(web).text, text=True,
                          capture_output=True, timeout=wire.PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_sockets_of_the_service_manager(make_web, tmp_path):  # noqa: F811
    """They have no words: the line with the same address has them."""
    needs_systemd()
    page = make_web()
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.3", 0)) as two:
        address = "127.0.0.3:{}".format(two.getsockname()[1])
        file = tmp_path / "inherited.conf"
        file.write_text(f"[web]\nlisten = {address} metrics\nlisten = 127.0.0.1:1\n"
                        f"server = {page.gateway.path}\n{USER}")
        launcher = (f"import os; os.dup2({one.fileno()}, 13); os.dup2({two.fileno()}, 14); "
                    "os.dup2(13, 3); os.dup2(14, 4); os.environ.update(LISTEN_FDS='2', "
                    "LISTEN_PID=str(os.getpid())); "
                    f"os.execv({conftest.program(HEARSAY_WEB)!r}, ['hearsay-web', '--config', "
                    f"{str(file)!r}])")
        process = subprocess.Popen([sys.executable, "-c", launcher], stderr=subprocess.PIPE,
                                   text=True, pass_fds=(one.fileno(), two.fileno()))
        log = ""
        while "ready: " not in log and (line := process.stderr.readline()):
            log += line
        process.send_signal(signal.SIGTERM)
        log += process.communicate(timeout=wire.PATIENCE)[1]
    assert f"listening on {address} metrics" in log and process.returncode == 0, log
