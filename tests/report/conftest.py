"""What tests of the report share: fitted models, their pages, and a browser that collects every complaint."""

import json
import re
import shutil
import warnings

import pytest

import hypergauss as hg
from hypergauss.analysis.assessment import assess
from hypergauss.datasets import make_planted_hypergraph

EVIL = '</script><script>window.hurt=1</script><img src=x onerror="window.hurt=1">'
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


def planted(n=60, m=80):
    made = make_planted_hypergraph(n, m, 2, random_state=0)
    names = [f"vertex {i}" for i in range(n - 1)] + [EVIL]
    edges = [f"edge {j}" for j in range(m - 1)] + [EVIL]
    H = hg.Hypergraph.from_incidence(made.hypergraph.incidence, vertices=names, edges=edges)
    return H, names, made.signal


@pytest.fixture(scope="module")
def regression(short_fits):
    H, names, signal = planted()
    model = hg.HypergraphGPRegressor(H, max_iterations=20, size_exponent=0.0, n_starts=1, random_state=0)
    observed = dict(zip(names[20:], signal[20:], strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(list(observed), list(observed.values()))
        held_out = assess(model, list(observed), list(observed.values()), folds=3)
    return model, observed, held_out


@pytest.fixture(scope="module")
def page_path(regression, tmp_path_factory):
    model, observed, held_out = regression
    path = tmp_path_factory.mktemp("report") / "report.html"
    hg.write_report(
        model, path, observed, assessment=held_out, title=f"Signals {EVIL}", notes=[EVIL, "Set `priors` or `5 o'clock"]
    )
    return path


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Pages:
    """One page for each screen, on which file after file is opened: a new one costs more than most tests do with it."""

    def __init__(self, browser):
        self._browser, self._kept, self._asked, self.trouble = browser, {}, None, []

    def open(self, uri, options):
        key = json.dumps(options, sort_keys=True)
        if key not in self._kept:
            self._kept[key] = page = self._browser.new_context(**options).new_page()
            page.on("console", lambda message: self.trouble.append(f"console: {message.text}"))
            page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
            page.on("request", lambda request: self.trouble.append(request.url) if request.url != self._asked else None)
        self._asked, page = uri, self._kept[key]
        page.mouse.move(0, 0)
        page.goto(uri)
        return page


@pytest.fixture(scope="module")
def pages(browser):
    return Pages(browser)


@pytest.fixture
def opened(pages):
    """Open a page; what it says and asks for is collected, and both must stay nothing."""
    pages.trouble.clear()
    yield lambda path, **options: pages.open(path.as_uri(), options)
    assert pages.trouble == []


def content_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))
