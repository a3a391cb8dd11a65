"""A real browser for tests of pages: Chromium, driven through its own driver by WebDriver's JSON.

Debian has both as `chromium` and `chromium-driver`. There is no other library in between.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WANTED = "needs a browser: chromium and chromium-driver"
PHONE, DESK = (390, 844), (1280, 900)
AXE = "axe-core@4.11.0"


class Browser:
    """A session of a driver at an address."""

    def __init__(self, address: str) -> None:
        self._address = address
        options = {"binary": CHROMIUM, "args": ["--headless=new", "--no-sandbox", "--disable-gpu"]}
        wanted = {
            "alwaysMatch": {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
                "timeouts": {"script": 120_000, "pageLoad": 120_000},
            }
        }
        self._session = self._call("POST", "/session", {"capabilities": wanted})["sessionId"]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._address + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=150) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def _do(self, path: str, body: Any = None, method: str = "POST") -> Any:
        return self._call(method, f"/session/{self._session}/{path}", body)

    def _cdp(self, command: str, **params: Any) -> Any:
        return self._do("goog/cdp/execute", {"cmd": command, "params": params})

    def look(self, *, dark: bool = False, size: tuple[int, int] = DESK) -> None:
        """Set the theme and the size of the window, a phone's below 600 pixels."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._cdp("Emulation.setEmulatedMedia", features=[scheme])
        width, height = size
        metrics = {"deviceScaleFactor": 1, "mobile": width < 600}
        self._cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, **metrics)
        self._cdp("Emulation.setTouchEmulationEnabled", enabled=width < 600)

    def open(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._do("url", {"url": page.resolve().as_uri()})

    def visit(self, address: str) -> None:
        """Open an address of a server, as a link is followed from elsewhere."""
        self._do("url", {"url": "about:blank"})
        self._do("url", {"url": address})

    def reload(self) -> None:
        """Load the page again."""
        self._do("refresh", {})

    def press(self, keys: str) -> None:
        """Press keys one after another, at once."""
        down_up = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._do("actions", {"actions": [{"type": "key", "id": "keys", "actions": down_up}]})

    def tap(self, selector: str) -> None:
        """Touch the middle of an element, whatever lies there."""
        middle = "const one = document.querySelector(arguments[0]).getBoundingClientRect();"
        x, y = self.run(f"{middle} return [one.x + one.width / 2, one.y + one.height / 2]", selector)
        self._cdp("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self._cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def swipe(self, pixels: int) -> None:
        """Push the page up by so many pixels with a finger."""
        for kind, up in (("touchStart", 0), *(("touchMove", pixels * at // 10) for at in range(1, 11))):
            self._cdp("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": 180, "y": 650 - up}])
        self._cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def offline(self, *, lost: bool) -> None:
        """Cut the network, or mend it."""
        self._cdp("Network.enable")
        self._cdp(
            "Network.emulateNetworkConditions", offline=lost, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )

    def run(self, script: str, *args: Any) -> Any:
        """Return what a function's body returns in the page, apart from the policy of the page."""
        return self._do("execute/sync", {"script": script, "args": list(args)})

    def run_async(self, script: str, *args: Any) -> Any:
        """Return what the body passes to its last argument."""
        return self._do("execute/async", {"script": script, "args": list(args)})

    def complaints(self) -> list[str]:
        """Return what the console has said since it was asked last."""
        return [one["message"] for one in self._do("se/log", {"type": "browser"})]

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of what is to be seen, or of the whole page."""
        found = self._cdp("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole=whole))
        path.write_bytes(base64.b64decode(found["data"]))

    def _clip(self, *, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self._cdp("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def close(self) -> None:
        """End the session."""
        self._call("DELETE", f"/session/{self._session}")


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Yield a browser, and end it and its driver afterwards."""
    assert DRIVER is not None, WANTED
    with subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdout is not None
            line = next(one for one in driver.stdout if "started successfully on port" in one)
            port = line.strip().rstrip(".").rpartition(" ")[2]
            one = Browser(f"http://127.0.0.1:{port}")
            try:
                yield one
            finally:
                one.close()
        finally:
            driver.terminate()


def axe_core(folder: Path) -> str:
    """The script of an accessibility checker, from npm; the test is skipped where that cannot be had."""
    npm = shutil.which("npm") or pytest.skip("needs npm, for axe-core")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        pytest.skip(f"axe-core cannot be installed from npm: {done.stderr[-200:]}")
    return script.read_text(encoding="utf-8")


def settled(seconds: float = 0.3) -> None:
    """Wait for what a page does after an event."""
    time.sleep(seconds)
