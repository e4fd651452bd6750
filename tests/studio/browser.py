"""A headless browser, steered through the DevTools protocol over a pipe: nothing to install."""

import atexit
import base64
import contextlib
import fcntl
import functools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--remote-debugging-pipe"),
)


class Chromium:
    """A process that all tabs of this process share: to start it takes longer than a test."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="ostinato-browser-")
        (read, self._write), (self._read, write) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read, write)]

        def as_three_and_four():
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)

        self.process = subprocess.Popen(
            [BROWSER, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=as_three_and_four,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for end in (read, write, *ends):
            os.close(end)
        self.tabs, self.answers, self._number, self._kept = {}, {}, 0, b""
        atexit.register(self.close)

    def call(self, method, session=None, **parameters):
        """The result of a command, to a tab or to all."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 90
        while number not in self.answers:
            self._hear(end - time.monotonic())
        answer = self.answers.pop(number)
        assert "error" not in answer, answer
        return answer.get("result", {})

    def _hear(self, seconds):
        ready, _, _ = select.select([self._read], [], [], max(0, seconds))
        if not ready:
            raise TimeoutError("the browser does not answer")
        data = os.read(self._read, 1 << 16)
        if not data:
            raise EOFError("the browser has ended")
        *whole, self._kept = (self._kept + data).split(b"\0")
        for words in whole:
            message = json.loads(words)
            if "id" in message:
                self.answers[message["id"]] = message
            elif (tab := self.tabs.get(message.get("sessionId"))) is not None:
                tab.note(message)

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self._write)
        self.process.terminate()
        self.process.wait(20)
        os.close(self._read)
        shutil.rmtree(self.profile, ignore_errors=True)


chromium = functools.cache(Chromium)


class Browser:
    """One tab: what it said to the console, and which addresses it asked.

    It has cookies and a store of its own, as if the browser had been started anew.
    """

    def __init__(self, width=1400, height=1000, dark=False):
        self.console, self.requests = [], []
        self._all, self._session = chromium(), None
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        place = {"url": "about:blank", "browserContextId": self._context}
        target = self.call("Target.createTarget", **place)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session, self.process = attached["sessionId"], self._all.process
        self._all.tabs[self._session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)
        self.colours(dark)

    def size(self, width, height=1000):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def colours(self, dark):
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def call(self, method, **parameters):
        """The result of a command."""
        return self._all.call(method, self._session, **parameters)

    def note(self, message):
        if message["method"] == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif message["method"] == "Log.entryAdded":
            self.console.append(message["params"]["entry"]["text"])
        elif message["method"] == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif message["method"] == "Runtime.consoleAPICalled":
            if message["params"]["type"] in ("error", "warning"):
                self.console.append(str(message["params"]["args"]))

    def open(self, address):
        """Open an address, and wait until its document is there, and the token is a cookie."""
        self.run("document.documentElement.dataset.old = 1")
        self.call("Page.navigate", url=address)
        self.wait(
            "!document.documentElement.dataset.old && document.readyState === 'complete'"
            "&& !new URLSearchParams(location.search).has('token')"
        )

    def run(self, code):
        """The value of an expression in the page; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition, seconds=60):
        """Until an expression is true."""
        end = time.monotonic() + seconds
        found = f"(() => {{ try {{ return !!({condition}); }} catch {{ return false; }} }})()"
        while not self._holds(found):
            if time.monotonic() > end:
                words = self.run("document.body.innerText")[-1500:]
                raise AssertionError(
                    f"not within {seconds} s: {condition}\n{words}\n{self.console}"
                )
            time.sleep(0.1)

    def _holds(self, condition):
        """Whether it is true; it is not while the page makes way for another one."""
        try:
            return self.run(condition)
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            return False

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, selector, words):
        where = json.dumps(selector)
        self.run(
            f"(() => {{ const box = document.querySelector({where}); box.focus();"
            f"box.value = {json.dumps(words)};"
            "box.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def drag(self, start, end):
        """Press the mouse at a point, move it, and let go."""
        points = [("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)]
        for kind, (x, y) in points:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path, whole=True):
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(found["data"]))

    def close(self):
        del self._all.tabs[self._session]
        self._all.call("Target.disposeBrowserContext", browserContextId=self._context)
