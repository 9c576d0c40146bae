"""Headless Chromium by chromedriver, with what every step of the test needs: waiting, pictures, and what went wrong."""
import json
import shutil
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

PATIENCE = 90  # seconds for anything to show up: the machine may be slow and busy


class Browser:
    def __init__(self, url):
        self.url = url
        options = Options()
        options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         "--disable-background-networking", "--lang=en"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or "chromedriver"))
        self.size(1360, 860)
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source="""
            window.violations = [];
            addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective}: ${e.blockedURI}`));""")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def size(self, width, height, phone=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def scheme(self, name):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self):
        self.driver.get(self.url)
        self.find("body[data-ready=true]")

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def module(self, code, *arguments):
        """Runs `code` with the page's modules in reach: `page("format")` is the module format.js."""
        answer = self.driver.execute_async_script(
            "const args = [...arguments]; const done = args.pop(); const page = (name) => import(`${location.origin}/page/${name}.js`);"
            f"(async () => {{ {code} }})().then(done, (error) => done({{error: String(error)}}));", *arguments)
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(answer["error"])
        return answer

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, what, condition, patience=PATIENCE):
        end = time.monotonic() + patience
        while True:
            try:
                value = condition()
            except StaleElementReferenceException:  # redrawn in between
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"waited {patience} s in vain for {what}")
            time.sleep(0.05)

    def find(self, selector, text=None, patience=PATIENCE):
        """The first element shown that matches and, if given, contains the text."""
        return self.wait(f"{selector} {text or ''}", lambda: next(
            (e for e in self.all(selector) if e.is_displayed() and (text is None or text in e.text)), None), patience)

    def gone(self, selector):
        self.wait(f"{selector} to go", lambda: not any(e.is_displayed() for e in self.all(selector)))

    def click(self, selector, text=None):
        def attempt():
            self.find(selector, text).click()
            return True
        self.wait(f"a click on {selector}", attempt)

    def text(self, selector):
        return self.find(selector).text

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused(self):
        return self.driver.switch_to.active_element

    def picture(self, folder, name):
        if folder:
            self.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=620, y=5)  # nothing looks touched
            time.sleep(0.3)
            (folder / f"{name}.png").write_bytes(self.driver.get_screenshot_as_png())

    def violations(self):
        return self.script("return window.violations ?? []")

    def complaints(self):
        """What the console says that is not mere information."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses the page asked for since the last call."""
        sent = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
