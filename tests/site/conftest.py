"""A visitor of the assembled site: headless Chromium, WebGPU on a software adapter; what goes wrong on a page fails the test."""
import shutil
import subprocess

import pytest
from playwright.sync_api import sync_playwright

from tools.browser import CHROMIUM_FLAGS, ROOT, SOFTWARE_ADAPTER, serve

SCREENSHOTS = ROOT / "dist/screenshots"


def pytest_collection_modifyitems(items):
    """One process has them all, since the site is assembled in one place."""
    for item in items:
        if item.path.is_relative_to(ROOT / "tests/site"):
            item.add_marker(pytest.mark.xdist_group("site"))


@pytest.fixture(scope="session")
def site_url():
    subprocess.run([ROOT / "build.sh", "site"], check=True, stdout=subprocess.DEVNULL)
    with serve({"/": ROOT / "dist/site"}, texts={"/favicon.ico": b""}) as server:
        yield server.url


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        flags = [*CHROMIUM_FLAGS, *SOFTWARE_ADAPTER.split()]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, site_url, request):
    """A fresh page at the site's root (``page.goto("/x.html")``); a screenshot stays in dist/screenshots.

    What goes wrong on it fails the test, except messages that begin as a text in ``page.expected``.
    """
    context = chromium.new_context(base_url=site_url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.expected = ()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield page
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{request.node.name}.png")
    context.close()
    assert not [text for text in troubles if not text.startswith(tuple(page.expected))]
