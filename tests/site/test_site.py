"""The site as a reader meets it: links that lead somewhere, nothing off a phone's screen, nothing out of reach."""

import runpy

import pytest

from tests.site.conftest import DOCS

if not DOCS.exists():
    pytest.skip("the site is not part of this installation", allow_module_level=True)

#: Pages that are looked at closely, and the report.
LOOKED_AT = ("index", "choose", "benchmarks", "datasets", "howto/own-kernel", "tutorials/index", "example-report")
NARROW = (*LOOKED_AT, "start", "sharp-bits", "notation", "example", "howto/command-line", "theory/inference")
NARROW = (*NARROW, "theory/classification", "tutorials/plot_1_your_own_csv")
DESK = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "color_scheme": "dark"}


@pytest.fixture
def opened(pages, site):
    def open_page(name, options):
        page = pages.open((site / f"{name}.html").as_uri(), options)
        page.evaluate("window.MathJax?.startup?.promise")  # formulas have their width when they are set
        return page

    return open_page


def test_every_link_inside_the_site_leads_somewhere(site):
    pages, links, broken = runpy.run_path(str(DOCS / "check_links.py"))["broken_links"](site)
    assert pages > 30
    assert links > 1_000
    assert broken == []


@pytest.mark.parametrize("name", NARROW)
def test_nothing_runs_off_a_phone(opened, name):
    page = opened(name, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for summary in page.locator("details > summary:visible").all()[:3]:
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


#: What is common to pages is looked at on both screens, and what is a page's own on one.
SCREENS = [(name, DESK if i % 2 else PHONE) for i, name in enumerate(LOOKED_AT)]
SCREENS += [("index", DESK), ("example-report", DESK)]


@pytest.mark.parametrize(("name", "options"), SCREENS)
def test_an_automatic_check_of_accessibility_finds_nothing_serious(opened, name, options):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed (extra `accessibility`)"
    )
    page = opened(name, options)
    page.wait_for_timeout(100)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        f"{rule['id']}: {node['target']}: {node['failureSummary']}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
    assert serious == []


def test_the_front_page_shows_pictures_code_and_the_four_tasks(opened):
    page = opened("index", DESK)
    assert page.locator(".card .rubric").all_inner_texts() == ["Values", "Classes", "Maps", "Ratings"]
    assert page.locator(".picture img:visible").count() == 3
    assert page.locator(".picture img:visible").first.evaluate("image => image.naturalWidth") > 0
    assert "HypergraphGPRegressor(cars.hypergraph" in page.locator("#ten-lines pre").first.inner_text()


def test_the_example_report_is_alive_inside_its_page(opened):
    page = opened("example", DESK)
    frame = page.frame_locator("iframe.report")
    frame.locator("#table tbody tr[data-vertex]").first.click()
    assert frame.locator("#detail .kind").inner_text() == "vertex"


def test_tutorials_can_be_had_as_notebooks(site):
    for script in (DOCS / "examples" / "tutorials").glob("plot_*.py"):
        page = (site / "tutorials" / f"{script.stem}.html").read_text(encoding="utf-8")
        assert f"{script.stem}.ipynb" in page
