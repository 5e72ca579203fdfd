# SPDX-License-Identifier: Apache-2.0
"""Firefox for the tests, without geckodriver, which Debian 12 does not have.

Firefox itself speaks Marionette, the protocol that geckodriver translates WebDriver into: over TCP,
JSON with its length in front, [0, number, command, parameters] there and [1, number, error, result]
back. https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile

import hearsay_wire as wire

# What an element is called in the answers: https://www.w3.org/TR/webdriver2/#elements
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    # The prompts of WebDriver are off: that a page asks nothing before it goes is Firefox's default.
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.dns.localDomains": "hearsay.lan",
    "network.proxy.type": 0,
    "remote.prefs.recommended": True,
    "toolkit.telemetry.enabled": False,
}


def find_firefox():
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """A Firefox of its own profile, with one tab."""

    def __init__(self, **preferences):
        self.profile = tempfile.mkdtemp(prefix="hearsay-firefox-", dir="/tmp")
        with open(os.path.join(self.profile, "user.js"), "w", encoding="utf-8") as file:
            for name, value in {**PREFERENCES, **preferences}.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = subprocess.Popen(
            [find_firefox(), "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile",
             self.profile],
            env={**os.environ, "HOME": self.profile, "MOZ_CRASHREPORTER_DISABLE": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number = 0
        try:
            self.socket = socket.create_connection(("127.0.0.1", self._port()), timeout=120)
            self.stream = self.socket.makefile("rwb")
            self._read()  # the greeting
            self.call("WebDriver:NewSession", pageLoadStrategy="none")
        except BaseException:
            self.kill()
            raise

    def _port(self):
        """Firefox writes the port that it got into its profile."""
        path = os.path.join(self.profile, "MarionetteActivePort")

        def is_there():
            assert self.process.poll() is None, "Firefox has ended"
            return os.path.exists(path) and os.path.getsize(path) > 0

        wire.wait_until(is_there, "Firefox's port", 2 * wire.PATIENCE, pause=0.05)
        with open(path, encoding="ascii") as file:
            return int(file.read())

    def _read(self):
        digits = b""
        while not digits.endswith(b":"):
            byte = self.stream.read(1)
            assert byte, "Firefox has hung up"
            digits += byte
        return json.loads(self.stream.read(int(digits[:-1])))

    def call(self, command, **parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(text), text))
        self.stream.flush()
        _, number, error, result = self._read()
        assert number == self.number
        if error is not None:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result

    def run(self, source, *arguments):
        """The value of a JavaScript function's body; for the test, not for the page."""
        return self.call("WebDriver:ExecuteScript", script=source, args=arguments)["value"]

    def prefer(self, name, value):
        """Sets a preference, which holds for pages that are loaded from then on."""
        self.call("Marionette:SetContext", value="chrome")
        self.run("Services.prefs.setBoolPref(arguments[0], arguments[1])", name, value)
        self.call("Marionette:SetContext", value="content")

    def find(self, selector):
        return self.call("WebDriver:FindElement", using="css selector", value=selector)["value"][ELEMENT]

    def type(self, selector, text):
        self.call("WebDriver:ElementSendKeys", id=self.find(selector), text=text)

    def click(self, selector):
        self.call("WebDriver:ElementClick", id=self.find(selector))

    def url(self):
        return self.call("WebDriver:GetCurrentURL")["value"]

    def get(self, url):
        self.call("WebDriver:Navigate", url=url)

    def back(self):
        self.call("WebDriver:Back")

    def reload(self):
        self.call("WebDriver:Refresh")

    def kill(self):
        self.process.kill()
        self.process.wait(wire.PATIENCE)
        shutil.rmtree(self.profile, ignore_errors=True)

    def quit(self):
        try:
            self.call("Marionette:Quit", flags=["eForceQuit"])
            self.process.wait(wire.PATIENCE)
        finally:
            self.kill()
