"""The README's pictures, ``docs/front.png`` and ``docs/report.png``: ``make pictures``, when they show what is old."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from making import example_report, front_picture

DOCS = Path(__file__).parents[1]


def photograph(page_path, path):
    """Take a picture of a report's map with its least certain vertex chosen."""
    with sync_playwright() as running:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1240, "height": 900}, color_scheme="light")
        page.goto(page_path.as_uri())
        page.locator("#detail .names .link").first.click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(200)
        page.locator("#map-section").screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    front_picture.write_side_by_side(DOCS / "front.png")
    with tempfile.TemporaryDirectory() as folder:
        example_report.write(Path(folder))
        photograph(Path(folder) / "example-report.html", DOCS / "report.png")
