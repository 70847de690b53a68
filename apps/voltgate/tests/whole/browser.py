"""Chromium without a window, driven through its pipe: a page is opened, looked at, typed into.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:9090/", width=360, height=800, dark=True)
        page.wait("document.title !== ''")
        page.screenshot("page.png")
        page.complaints    # what the console says, exceptions, and what the policy has blocked
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
ANSWER_SECONDS = 60


def find() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    def __init__(self) -> None:
        self.scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        low, self.to = os.pipe()
        self.answers, other_low = os.pipe()
        # It speaks on descriptors 3 and 4, which the shell makes of ours: they must be others.
        to_read, to_write = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (low, other_low))
        os.close(low)
        os.close(other_low)
        command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "bash", str(find()), *OPTIONS,
                   f"--user-data-dir={self.scratch.name}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(to_read, to_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.count = 0
        self.replies: dict[int, dict] = {}
        self.pages: dict[str, Page] = {}
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(10)
        os.close(self.to)
        os.close(self.answers)
        self.scratch.cleanup()

    def read(self) -> None:
        rest = b""
        while piece := os.read(self.answers, 1 << 16):
            *whole, rest = (rest + piece).split(b"\0")
            for message in map(json.loads, whole):
                with self.news:
                    if "id" in message:
                        self.replies[message["id"]] = message
                    elif page := self.pages.get(message.get("sessionId", "")):
                        page.heard(message["method"], message["params"])
                    self.news.notify_all()

    def call(self, method: str, session: str = "", **params: Any) -> dict:
        with self.news:
            self.count += 1
            number = self.count
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        with self.news:
            if not self.news.wait_for(lambda: number in self.replies, ANSWER_SECONDS):
                raise TimeoutError(f"no answer to {method}")
            reply = self.replies.pop(number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    def open(self, url: str, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        with self.news:
            self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 500)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Page.navigate", url=url)
        return page

    def close_pages(self) -> None:
        for page in list(self.pages.values()):
            page.close()


class Page:
    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self.browser, self.session, self.target = browser, session, target
        self.complaints: list[str] = []
        self.asked: list[str] = []  # each request's method and address

    def heard(self, method: str, params: dict) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(str([a.get("value", a.get("description")) for a in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.asked.append(f"{params['request']['method']} {params['request']['url']}")

    def call(self, method: str, **params: Any) -> dict:
        return self.browser.call(method, self.session, **params)

    def value(self, expression: str) -> Any:
        """What a JavaScript expression is, awaited if it is a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression: str, seconds: float = 30) -> bool:
        """Until it is true. Returns whether it became so."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.value(expression):
                    return True
            except RuntimeError:  # the document is not there yet, or a part of it
                pass
            time.sleep(0.05)
        return False

    def key(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def point(self, selector: str, x: float, y: float) -> None:
        """Move the mouse there, in shares of the element's width and height."""
        box = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                         "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
                         "return [b.left, b.top, b.width, b.height]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + box[2] * x,
                  y=box[1] + box[3] * y)

    def screenshot(self, path: Path | str) -> None:
        """Of the whole page, not only of what fits the window."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        with self.browser.news:
            self.browser.pages.pop(self.session, None)
        self.browser.call("Target.closeTarget", targetId=self.target)
