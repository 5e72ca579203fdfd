# SPDX-License-Identifier: Apache-2.0
"""T8: what clients of the page can make the kernel and the program keep stays below the MemoryMax of
the unit, which counts both. (In 0.2.0 they were 108 MiB of 64, most of it bytes that clients had sent
beside their streams and nobody read.)"""

import contextlib
import os
import re
import shutil
import socket
import subprocess

import hostile
import pytest

import conftest
import web_runner
from guests import addresses4, addresses6, make_guests  # noqa: F401 (a fixture)
from t1_posts_on_the_page import Page
from t3_connections import CONNECTIONS, OF_AN_ADDRESS, head_of
from web_runner import make_gateway, make_web, open_folder  # noqa: F401 (fixtures)

MIB = 1024 * 1024

if not os.environ.get("HEARSAY_WEB"):
    pytest.skip("hearsay-web is not built", allow_module_level=True)


def memory_max():
    folder = os.path.dirname(os.environ["HEARSAY_UNIT"])
    if not os.path.exists(os.path.join(folder, "hearsay-web.service")):
        pytest.skip("hearsay-web was built without libsystemd")
    with open(os.path.join(folder, "hearsay-web.service"), encoding="utf-8") as file:
        return int(re.search(r"^MemoryMax=(\d+)M$", file.read(), re.M).group(1))


def test_the_limits_fit_into_the_unit(tmp_path):
    """--check-config adds up what the default limits allow. Each open page may be of another place, whose list
    takes some memory beyond that of `views`."""
    file = tmp_path / "web.conf"

    def at_most(limits=""):
        file.write_text(f"[web]\n{limits}{web_runner.USER}")
        done = subprocess.run([conftest.program(web_runner.HEARSAY_WEB), "--config", file, "--check-config"],
                              capture_output=True, text=True, check=True)
        return int(re.search(r"^memory: at most (\d+) MiB", done.stdout, re.M).group(1))

    assert at_most() <= memory_max()
    assert at_most(f"connections = {4 * CONNECTIONS}\n") > 2 * at_most()
    many = f"connections = {8 * CONNECTIONS}\nevents = "
    assert at_most(many + "2048\n") >= at_most(many + "64\n") + 30


def kernel_bytes(port):
    """What the kernel keeps of the server's connections: received and not read, sent and not taken."""
    out = subprocess.run(["ss", "-tmnH", f"sport = :{port}"], capture_output=True, text=True, check=True)
    return sum(sum(map(int, fields)) for fields in re.findall(
        r"skmem:\(r(\d+),rb\d+,t\d+,tb\d+,f(\d+),w(\d+),o\d+,bl(\d+)", out.stdout))


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))


def fill(held):
    """Sends what each connection takes, of the data that goes with it, until none takes more in a few
    rounds, or was closed."""
    rounds, left = 0, list(held)
    while rounds < 3:
        rounds += 1
        for pair in list(left):
            try:
                while pair[0].send(pair[1]):
                    rounds = 0
            except BlockingIOError:
                pass
            except OSError:
                left.remove(pair)


@pytest.mark.skipif(shutil.which("ss") is None, reason="there is no `ss`")
def test_all_that_clients_can_hold(guests, make_web, sanitized):
    """A quarter of the connections are streams whose clients send, the others have unread answers; each
    sends as much as the page takes. A phone is served, and all fits into the unit's MemoryMax."""
    hostile.raise_descriptors(4096)
    page = Page(make_web)
    phone = guests.add(*addresses4(1, 10), *addresses6(1, 0x10))
    half = CONNECTIONS // 2 // OF_AN_ADDRESS
    streams, others = [], []
    with contextlib.ExitStack() as stack:
        for sources in (addresses6(half, 0x100), addresses4(half, 100)):
            attacker, web = guests.add(*sources), page.of(sources[0])
            for number in range(CONNECTIONS // 2):
                with attacker.inside():
                    made = web.connection(sources[number // OF_AN_ADDRESS])
                stack.callback(made.close)
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                is_stream = number % OF_AN_ADDRESS < 2
                with contextlib.suppress(ConnectionError):  # when it had to give way
                    made.sendall(head_of(web, "GET", "/events" if is_stream else "/"))
                (streams if is_stream else others).append((made, head_of(web, "GET", "/") * 40))
                made.setblocking(False)
        fill(others)
        fill([(one, b"x" * 65536) for one, _ in streams])
        kernel = sum(kernel_bytes(web.port) for web in page.by_family.values())
        used = kernel + resident_bytes(web.process.pid)
        print(f"{kernel / MIB:.1f} MiB in the kernel, {(used - kernel) / MIB:.1f} in the program")
        if not sanitized:
            assert used < memory_max() * MIB
        with phone.inside():
            assert [page.of(one).get(source=one).status for one in phone.addresses] == [200, 200]
