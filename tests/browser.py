"""A headless Chromium for tests, driven by Selenium with the Chromium and driver that the system has.

Both are found by path, so that Selenium downloads nothing. Messages and exceptions of pages are recorded.
"""

import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-ipc-flooding-protection",  # else the 201st link within ten seconds is ignored
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # network requests of a page fail and are among its errors
    "--force-device-scale-factor=1",
)
PATIENCE = 60  # seconds for one answer; a loaded machine starts a browser slowly


def missing() -> str:
    """Why no browser can be used here; "" if one can."""
    if not _program():
        return f"no browser: none of {', '.join(CHROMIUM)} is on the PATH; Debian's package is chromium"
    if not shutil.which("chromedriver"):
        return "no chromedriver on the PATH; Debian's package is chromium-driver"
    return ""


def _program() -> str | None:
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page."""

    def __init__(self, folder: Path, *, width: int = 1280, height: int = 900) -> None:
        if reason := missing():
            pytest.skip(reason)
        from selenium.webdriver import Chrome, ChromeOptions, ChromeService

        options = ChromeOptions()
        options.binary_location = _program()
        for argument in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        os.environ["SE_OFFLINE"] = "true"
        self._driver = Chrome(options, ChromeService(shutil.which("chromedriver")))
        self._driver.set_page_load_timeout(PATIENCE)
        self._driver.set_script_timeout(PATIENCE)
        self._complaints: list[str] = []
        self.resize(width, height)

    def call(self, method: str, **arguments: object) -> dict:
        """A command of the browser's debugging protocol."""
        return self._driver.execute_cdp_cmd(method, arguments)

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings that the pages opened so far have logged."""
        entries = self._driver.get_log("browser")
        self._complaints += [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]
        return self._complaints

    def resize(self, width: int, height: int) -> None:
        """The size of the window's content."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> None:
        """Opens a page and waits until it is loaded."""
        self._driver.get(address)

    def ask(self, expression: str) -> object:
        """The value of a JavaScript expression on the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key of the keyboard, by its name in `selenium.webdriver.Keys` or as a letter."""
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self._driver).send_keys(getattr(Keys, key.upper(), key)).perform()

    def type(self, words: str) -> None:
        """Types text into the focused element."""
        self.call("Input.insertText", text=words)

    def scripts(self, on: bool) -> None:
        """Whether pages that are opened from now on may run scripts of their own."""
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def medium(self, name: str) -> None:
        """Shows the page as on "screen" or as on "print"."""
        self.call("Emulation.setEmulatedMedia", media=name)

    def close(self) -> None:
        """Ends the browser and its driver."""
        self._driver.quit()
