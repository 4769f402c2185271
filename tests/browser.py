"""A real browser for pages: the Chromium of this machine, without a window and without a network."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DRIVERS = ("chromedriver", "chromium.chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # for root, in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
PHONE, DESK = (390, 844), (1200, 900)


@contextmanager
def open_browser() -> Iterator["Browser"]:
    """Or skip, where this machine has none."""
    browser, driver = (_find(names) for names in (BROWSERS, DRIVERS))
    if browser is None or driver is None:
        pytest.skip(f"no browser: {' or '.join(BROWSERS[:1] + DRIVERS[:1])} is not on this machine")
    options = ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in FLAGS:
        options.add_argument(flag)
    chrome = Chrome(options, Service(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()


def _find(names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := shutil.which(name)) is not None), None)


class Browser:
    def __init__(self, chrome: Chrome) -> None:
        self.chrome = chrome

    def open(
        self, page: Path, *, size: tuple[int, int] = DESK, scheme: str = "light", scripts: bool = True
    ) -> None:
        width, height = size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.show_in(scheme)
        self.chrome.get(page.resolve().as_uri())

    def show_in(self, scheme: str) -> None:
        wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}  # scrolls at once
        features = [{"name": name, "value": value} for name, value in wanted.items()]
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: object) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def one(self, selector: str) -> WebElement:
        return self.chrome.find_element("css selector", selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.chrome.find_elements("css selector", selector)

    def complaints(self) -> list[str]:
        """What the page has said on its console: errors, and what its policy refused."""
        log = self.chrome.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]
