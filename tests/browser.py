"""A headless Chromium for tests: a page opened, asked and photographed over the browser's own debugging pipe.

No driver and no package is needed; the protocol is JSON over two file descriptors, each message closed by a zero byte.
"""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-ipc-flooding-protection",  # else the 201st link within ten seconds leads nowhere
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60  # seconds for one answer; a loaded machine starts a browser slowly


def program() -> str | None:
    """The browser's path, or None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page; what the page logs, throws and asks the network for is kept."""

    def __init__(self, folder: Path, *, width: int = 1280, height: int = 900) -> None:
        wanted, self._send = os.pipe()
        self._receive, given = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{wanted} 4>&{given}', "bash", program(), *OPTIONS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(wanted, given),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(wanted)
        os.close(given)
        self._numbers, self._buffer = itertools.count(1), b""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    _session: str | None = None

    def call(self, method: str, **arguments: object) -> dict:
        """One command and its answer; events that come in between are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._keep(answer)

    def _read(self) -> dict:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._receive], [], [], max(0, until - time.monotonic()))
            assert ready, f"the browser gave no answer within {PATIENCE} s"
            read = os.read(self._receive, 1 << 20)
            assert read, "the browser has ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _keep(self, event: dict) -> None:
        told = event.get("params", {})
        if event.get("method") == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(told["entry"]))
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> None:
        """Opens a page and waits until it stands."""
        self.call("Page.navigate", url=address)
        here = f"location.href === {json.dumps(address)} && document.readyState === 'complete'"
        until = time.monotonic() + PATIENCE
        while not self.ask(here):
            assert time.monotonic() < until, f"{address} did not load within {PATIENCE} s"
            time.sleep(0.05)

    def ask(self, expression: str) -> object:
        """The value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """A key of the keyboard, down and up."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, text=text, **_virtual(key))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, **_virtual(key))

    def type(self, words: str) -> None:
        self.call("Input.insertText", text=words)

    def photograph(self, *, whole: bool = False) -> bytes:
        """What is seen, or the whole page, as PNG."""
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(made["data"])

    def scripts(self, on: bool) -> None:
        """Whether pages that are opened from now on may run scripts of their own."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def medium(self, name: str) -> None:
        """Shows the page as on "screen" or as on "print"."""
        self.call("Emulation.setEmulatedMedia", media=name)

    def close(self) -> None:
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(30)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
        finally:
            os.close(self._send)
            os.close(self._receive)


def _virtual(key: str) -> dict[str, int]:
    codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
    return {"windowsVirtualKeyCode": codes[key]} if key in codes else {}
