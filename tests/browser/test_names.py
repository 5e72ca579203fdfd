# SPDX-License-Identifier: Apache-2.0
"""A phone whose DNS does not know the name of the page, as with Private DNS or in a VPN: the second code
of the poster has the address in numbers. In a network of the test's own, because such an address is none
of loopback."""

import ctypes
import re
import socket
import subprocess

import pytest
from selenium.common.exceptions import WebDriverException

import devices

ADDRESS = "192.168.8.1"  # harness.py lets the phone go there


@pytest.fixture(scope="module", autouse=True)
def own_network():
    why_not = devices.enter_own_network()
    if why_not:
        pytest.skip(f"no network of our own: {why_not}")
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/24", "dev", "lo"], check=True)


class Code(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("width", ctypes.c_int),
                ("data", ctypes.POINTER(ctypes.c_ubyte))]


def modules_of(text):
    """The dark modules of the QR code of a text, from the library."""
    library = ctypes.CDLL("libqrencode.so.4")
    library.QRcode_encodeString8bit.restype = ctypes.POINTER(Code)
    code = library.QRcode_encodeString8bit(text.encode(), 0, 1).contents
    return {(x, y) for y in range(code.width) for x in range(code.width)
            if code.data[y * code.width + x] & 1}


def modules_drawn(path):
    """Those of a picture, whose path has strokes by row."""
    dark, x, y = set(), 0, 0
    for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", path):
        values = [float(number) for number in numbers.split()]
        if command == "M":
            x, y = int(values[0]), int(values[1])
        elif command == "m":
            x += int(values[0])
        else:
            dark |= {(x + i, y) for i in range(int(values[0]))}
            x += int(values[0])
    left, top = min(x for x, _ in dark), min(y for _, y in dark)
    return {(x - left, y - top) for x, y in dark}


def test_the_poster_works_without_dns(phone, make_place):
    door = socket.create_server((ADDRESS, 0), backlog=64)
    door.setblocking(False)
    place = make_place("title = Place A\nwifi_ssid = Guests\n", door=door)
    place.leave("of somebody", source="127.0.0.9")
    with pytest.raises(WebDriverException, match="ERR_NAME_NOT_RESOLVED"):
        phone.driver.get(place.url(name="hearsay.example"))
    phone.driver.get(f"http://{ADDRESS}:{place.port}/poster")
    bare = f"http://{ADDRESS}:{place.port}/"
    assert bare in [code.text for code in phone.all(".codes .card:last-child .code")]
    url = f"{bare}?p={place.digits}"
    drawn = modules_drawn(phone.find(".codes .card:last-child svg path").get_attribute("d"))
    assert drawn == modules_of(url)
    phone.driver.get("about:blank")
    phone.driver.get(url)
    assert phone.messages == ["of somebody"]
    phone.leave("by the address")
    assert phone.messages == ["by the address", "of somebody"]
    assert phone.driver.current_url.startswith(f"http://{ADDRESS}:{place.port}/")
