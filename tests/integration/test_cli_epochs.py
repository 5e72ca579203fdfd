# SPDX-License-Identifier: Apache-2.0
"""The hearsay command where a host has epochs: keys are kept for those who were on site, and used
as long as their epochs live."""

import json
import os
import shutil
import stat

import pytest

import cli_runner
from hearsay_wire import pb

HERE = ["wifi:a4:2b:8c:01:02:03", "wifi:a4:2b:8c:01:02:04", "geo:u281zd", "topic:coffee"]
ON = [word for label in HERE for word in ("-l", label)]
LONG = "[host default]\nepoch_length = 365d\nepoch_keep = 365d\n"


def local(make_daemon, config):
    """A daemon whose TCP listener is local and whose Unix socket is not."""
    daemon = make_daemon(config, start=False)
    make_local(daemon)
    return daemon.start()


def make_local(daemon):
    with open(daemon.config_file, encoding="utf-8") as file:
        text = file.read()
    with open(daemon.config_file, "w", encoding="utf-8") as file:
        file.write(text.replace("127.0.0.1:0\n", "127.0.0.1:0 local\n"))


@pytest.fixture
def daemon(make_daemon):
    return local(make_daemon, LONG)


def texts(cli, *args):
    code, out, err = cli.run("query", "--json", "-k", "100", *ON, *args)
    assert code in (0, 1), err
    return sorted(json.loads(line)["text"] for line in out.splitlines())


def deposit_in_next(cli, client, text):
    """Waits for the next epoch, and deposits in it. Its number, or that of the one after."""
    while client.receive().WhichOneof("body") != "epoch_changed":
        pass
    return cli.json_lines("deposit", "--json", *ON, text)[0]["epoch"]


def keys_of(cli):
    return os.path.join(cli.home, "state", "hearsay", "keys")


def test_on_site_it_is_the_current_epoch(daemon):
    """deposit and query take the current epoch by themselves; the open one where they are told."""
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        number = client.welcome.hosts[0].epoch.number
    told = cli.json_lines("deposit", "--json", *ON, "inside")[0]
    assert told["epoch"] == number
    assert cli.json_lines("deposit", "--json", *ON, "--epoch", "open", "outside")[0]["epoch"] == 0
    assert texts(cli) == ["inside", "outside"]
    assert texts(cli, "--epoch", "current") == ["inside"]
    assert texts(cli, "--epoch", "open") == ["outside"]
    assert texts(cli, "--contains", HERE[0]) == ["inside", "outside"]
    with daemon.client() as client:
        got = client.call(pb.Get(id=bytes.fromhex(told["id"])))
        assert (got.epoch, got.payload) == (number, b"inside")


def test_keys_are_kept_for_later(daemon):
    """From elsewhere, who was on site finds what was said then; who was not finds nothing."""
    inside = cli_runner.of_daemon(daemon)
    inside.ok("deposit", *ON, "secret")
    status = os.stat(keys_of(inside))
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(keys_of(inside))).st_mode) == 0o700
    outside = cli_runner.of_daemon(daemon, unix=True)  # the same home
    assert texts(outside) == ["secret"]
    assert outside.json_lines("deposit", "--json", *ON, "later")[0]["epoch"] != 0
    stranger = cli_runner.Cli(daemon.socket_path, os.path.join(daemon.directory, "elsewhere"))
    assert texts(stranger) == []
    assert not os.path.exists(keys_of(stranger))
    code, _, err = stranger.run("deposit", *ON, "--epoch", "current", "x")
    assert code == 2 and "on site" in err
    os.remove(keys_of(inside))
    assert texts(outside) == []


def test_groups_and_epochs_together(daemon, tmp_path):
    secret = tmp_path / "team"
    secret.write_text("correct horse battery staple\n")
    secret.chmod(0o600)
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *ON, "--group", str(secret), "ours")
    assert texts(cli, "--group", str(secret)) == ["ours"]
    question = '{"labels": ["%s"]}\n' % '", "'.join(HERE)
    answer = cli.json_lines("query", "--batch", "-", "--group", str(secret), stdin=question)[0]
    assert [result["text"] for result in answer["results"]] == ["ours"]


def test_epochs_that_were_are_asked_in(make_daemon):
    """Messages of several epochs are found by one who was there in all; an epoch that is over is
    not asked in any more."""
    daemon = local(make_daemon, "[host default]\nepoch_length = 1s\nepoch_keep = 60s\n")
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        epochs = {deposit_in_next(cli, client, f"m{i}") for i in range(3)}
    assert len(epochs) == 3
    found = texts(cli)
    assert found == ["m0", "m1", "m2"]
    daemon.stop()  # the epochs of 5 s ago are over when it is back
    daemon.configure("[host default]\nepoch_length = 0\n")
    make_local(daemon)
    daemon.start()
    assert texts(cli_runner.of_daemon(daemon)) == found  # the same home


def test_a_store_that_lost_epochs(make_daemon):
    """After an old backup was put back the client asks in what there is, and says so."""
    daemon = local(make_daemon, "[host default]\nepoch_length = 1s\nepoch_keep = 60s\n")
    daemon.stop()
    backup = daemon.data + ".old"
    shutil.copytree(daemon.data, backup)
    daemon.start()
    cli = cli_runner.of_daemon(daemon)
    with daemon.client() as client:
        for _ in range(3):
            deposit_in_next(cli, client, "gone")
    daemon.stop()
    shutil.rmtree(daemon.data)
    shutil.move(backup, daemon.data)
    daemon.start()
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *ON, "--epoch", "open", "here")
    code, out, err = cli.run("query", *ON)
    assert code == 0 and "here" in out and "lost epochs" in err


def test_a_damaged_memory_is_done_without(daemon):
    cli = cli_runner.of_daemon(daemon)
    cli.ok("deposit", *ON, "inside")
    with open(keys_of(cli), "r+b") as file:
        file.seek(40)
        file.write(b"\xff\xff")
    with open(keys_of(cli), "rb") as file:
        before = file.read()
    code, out, err = cli.run("query", *ON)
    assert code == 0 and "inside" in out and "epochs of before" in err
    with open(keys_of(cli), "rb") as file:
        assert file.read() == before


def test_options_that_make_no_sense(daemon, make_daemon, tmp_path):
    cli = cli_runner.of_daemon(daemon)
    code, _, err = cli.run("query", "--memory", str(tmp_path / "m"), "--epoch", "current")
    assert code == 2 and "exclude each other" in err
    code, _, err = cli_runner.of_daemon(make_daemon()).run("query", *ON, "--epoch", "current")
    assert code == 2 and "has no epochs" in err
