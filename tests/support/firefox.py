"""A real Firefox for tests of pages, driven by its own protocol, Marionette; or they are skipped.

Playwright needs a Firefox of its own, which is not to be had here, or newer commands of WebDriver
BiDi than Debian's has.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

FIREFOX = Path("/usr/bin/firefox-esr")
needs_firefox = pytest.mark.skipif(not FIREFOX.exists(), reason=f"there is no Firefox at {FIREFOX}")
LIMIT = 60.0
"""Seconds that Firefox may take to start, and that is waited for what a page shows."""
PREFERENCES = {
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "devtools.console.stdout.chrome": False,
    "devtools.console.stdout.content": True,
    "intl.accept_languages": "en-US",
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "ui.prefersReducedMotion": 1,
}


class Firefox:
    """A window of Firefox."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._number = 0
        self._receive()  # its greeting
        self._send("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})
        self._send("WebDriver:SetTimeouts", {"script": int(1000 * LIMIT)})

    def open(self, url: str) -> None:
        """Go to an address."""
        self._send("WebDriver:Navigate", {"url": url})

    def resize(self, width: int, height: int) -> None:
        """Give the page a width and a height in pixels."""
        outer = {"width": width, "height": height}
        self._send("WebDriver:SetWindowRect", outer)
        missing = width - int(self.run("return innerWidth"))
        self._send("WebDriver:SetWindowRect", {**outer, "width": width + missing})

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script in the page returns, or what it promises."""
        asked = {"script": script, "args": arguments, "sandbox": None}
        return self._send("WebDriver:ExecuteScript", asked)["value"]

    def wait_for(self, script: str, *arguments: object) -> Any:
        """Return what a script returns once that is true."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if found := self.run(script, *arguments):
                return found
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}")

    def click(self, selector: str) -> None:
        """Click on the first element of a selector, as a person does."""
        self.wait_for("return Boolean(document.querySelector(arguments[0]))", selector)
        self._send("WebDriver:ElementClick", {"id": self._find(selector)})

    def type(self, selector: str, text: str) -> None:
        """Type into the first element of a selector."""
        self._send("WebDriver:ElementSendKeys", {"id": self._find(selector), "text": text})

    def _find(self, selector: str) -> str:
        asked = {"using": "css selector", "value": selector}
        [element] = self._send("WebDriver:FindElement", asked)["value"].values()
        return element

    def _send(self, command: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        text = json.dumps([0, self._number, command, parameters]).encode()
        self._connection.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._receive()
        if error:
            raise AssertionError(f"{command}: {error['message']}")
        return result

    def _receive(self) -> Any:
        size = b""
        while (character := self._stream.read(1)) != b":":
            if not character:
                raise AssertionError("Firefox closed the connection")
            size += character
        return json.loads(self._stream.read(int(size)))


@contextmanager
def firefox() -> Generator[tuple[Firefox, Path]]:
    """Yield a headless Firefox, and the file of what pages write to its console."""
    with TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        profile = Path(folder) / "profile"
        profile.mkdir()
        lines = [
            f"user_pref({json.dumps(name)}, {json.dumps(value)});"
            for name, value in {**PREFERENCES, "marionette.port": port}.items()
        ]
        (profile / "user.js").write_text("\n".join(lines))
        log = Path(folder) / "console.txt"
        command = [str(FIREFOX), "--headless", "--marionette", "--no-remote", "--profile"]
        with (
            log.open("wb") as written,
            subprocess.Popen(
                [*command, str(profile)],
                stdout=written,
                stderr=subprocess.STDOUT,
                env={**os.environ, "HOME": folder, "MOZ_DISABLE_CONTENT_SANDBOX": "1"},
            ) as process,
        ):
            try:
                with _connect(port) as connection:
                    yield Firefox(connection), log
            finally:
                process.terminate()


def _connect(port: int) -> socket.socket:
    """Return a connection to Firefox once it listens."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
