"""The report in a real browser: clicked, searched, sorted, photographed; no errors, no requests, no foreign markup."""

import re

import numpy as np
import pytest

import hypergauss as hg
from hypergauss.analysis.assessment import assess
from hypergauss.report import report_html
from tests.report.conftest import EVIL, content_of, planted


def test_everything_is_in_one_file(regression):
    model, observed, held_out = regression
    page = report_html(model, observed, assessment=held_out)
    assert "{{" not in page
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)""", page)
    content = content_of(page)
    assert content["task"] == "regression"
    assert len(content["vertices"]["names"]) == 60
    assert sum(value is not None for value in content["vertices"]["observed"]) == 40
    np.testing.assert_allclose(content["vertices"]["mean"], model.predict(model.H.vertices), rtol=1e-4, atol=1e-8)


def test_names_cannot_leave_the_data(regression):
    model, observed, held_out = regression
    page = report_html(model, observed, assessment=held_out, title=EVIL)
    assert EVIL not in page
    assert page.count("</script>") == 2
    assert content_of(page)["vertices"]["names"][-1] == EVIL


def test_contributions_shown_are_those_explained(regression):
    model, observed, _ = regression
    content = content_of(report_html(model, observed))
    explained = model.explain("vertex 3").edges
    edge, value = content["speaking"]["top"][3][0]
    assert content["speaking"]["edges"][edge] == explained.loc[0, "edge"]
    assert value == pytest.approx(explained.loc[0, "contribution"], rel=1e-4)


def test_hyperedges_of_a_kernel_from_elsewhere_are_not_given_the_names_of_these(regression):
    H, observed = regression[0].H, regression[1]
    elsewhere = hg.Hypergraph.from_incidence(H.incidence[:, ::-1], vertices=H.vertices)  # as many, none in its place
    model = hg.HypergraphGPRegressor(H, hg.kernels.Matern(hg.Spectrum.of(elsewhere)), learn=False)
    shown = content_of(report_html(model.fit(list(observed), list(observed.values())), observed))["speaking"]["edges"]
    assert shown == [f"hyperedge {number} of the kernel" for number in range(H.num_edges)]


def test_a_vertex_is_found_by_name_and_described(opened, page_path):
    page = opened(page_path)
    page.fill("#search", "vertex 1")
    assert page.locator("#matches button").count() == 8
    page.press("#search", "Enter")
    assert page.locator("#detail h3").first.inner_text() == "vertex 1"
    assert "Not observed" in page.locator("#detail").inner_text()
    assert page.locator("#detail .bars li").count() >= 1


def test_names_stay_text(opened, page_path):
    page = opened(page_path)
    page.fill("#search", "</script>")
    page.press("#search", "Enter")
    assert page.locator("#detail h3").first.inner_text() == EVIL
    assert page.evaluate("window.hurt") is None
    assert page.locator("h1").inner_text() == f"Signals {EVIL}"
    assert page.locator("img").count() == 0


def test_notes_show_names_of_settings_as_code_and_everything_else_as_it_is(opened, page_path):
    notes = opened(page_path).locator("#notes li")
    assert notes.nth(1).inner_html() == "Set <code>priors</code> or `5 o'clock"
    assert notes.nth(0).inner_text() == EVIL


@pytest.mark.parametrize("width", [390, 1280])
def test_no_button_lies_on_the_map(opened, page_path, width):
    page = opened(page_path, viewport={"width": width, "height": 900})
    map_box = page.locator("#map").bounding_box()
    for button in page.locator(".tools button").all():
        box = button.bounding_box()
        assert box["y"] + box["height"] <= map_box["y"]


def test_the_table_sorts_filters_and_chooses(opened, page_path):
    page = opened(page_path)
    head = page.locator("#table th", has_text="predicted")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    shown = [float(row.locator("td").nth(2).inner_text()) for row in page.locator("#table tbody tr[data-vertex]").all()]
    assert shown == sorted(shown, reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    page.fill("#filter", "vertex 4")
    assert page.locator("#count").inner_text() == "11 of 60 vertices"
    page.locator("#table tbody tr", has_text="vertex 44").click()
    assert page.locator("#detail h3").first.inner_text() == "vertex 44"


def test_the_map_answers_the_mouse_and_the_keyboard(opened, page_path):
    page = opened(page_path)
    page.focus("#map")
    page.keyboard.press("ArrowRight")
    visited = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        visited.add(page.locator("#detail h3").first.inner_text())
    assert len(visited) > 1
    box = page.locator("#map").bounding_box()
    x, y = page.evaluate("""() => { const d = JSON.parse(document.getElementById("data").textContent).vertices;
        const c = document.getElementById("map"), p = 22;
        return [p + d.x[5] * (c.clientWidth - 2 * p), p + (1 - d.y[5]) * (c.clientHeight - 2 * p)]; }""")
    page.mouse.move(box["x"] + x, box["y"] + y)
    assert page.locator("#tip").is_visible()
    page.mouse.click(box["x"] + x, box["y"] + y)
    assert page.locator("#detail h3").first.inner_text().startswith("vertex")


def test_colours_change_with_what_is_asked(opened, page_path):
    page = opened(page_path)
    before = page.locator("#legend").inner_text()
    picture = page.locator("#map").screenshot()
    page.check("input[value=uncertainty]")
    assert page.locator("#legend").inner_text() != before
    assert page.locator("#map").screenshot() != picture


def test_every_control_is_reached_by_keyboard_alone(opened, page_path):
    page = opened(page_path)
    controls = page.evaluate("""() => [...document.querySelectorAll("button, input, a[href], [tabindex='0']")]
        .filter((e) => e.offsetParent !== null || e.classList.contains("skip"))
        .filter((e) => e.type !== "radio" || e.checked).length""")
    seen = set()
    for _ in range(controls + 10):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate("""() => { const all = [...document.querySelectorAll("*")];
            return document.activeElement === document.body ? -1 : all.indexOf(document.activeElement); }""")
        )
    assert len(seen - {-1}) >= controls


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light_follow_the_reader(opened, page_path, scheme):
    page = opened(page_path, color_scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
    assert (lightness > 128) == (scheme == "light")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") != scheme


def test_nothing_sticks_out_on_a_phone(opened, page_path, tmp_path):
    page = opened(page_path, viewport={"width": 360, "height": 740}, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.screenshot(path=tmp_path / "phone.png", full_page=True)
    assert (tmp_path / "phone.png").stat().st_size > 10_000


def test_ten_thousand_vertices_are_quick(opened, tmp_path):
    H, names, signal = planted(10_000, 300)
    model = hg.HypergraphGPRegressor(H, learn=False).fit(names[:500], signal[:500])
    hg.write_report(model, tmp_path / "large.html", dict(zip(names[:500], signal[:500], strict=True)))
    page = opened(tmp_path / "large.html")
    assert page.locator("#table tbody tr[data-vertex]").count() < 60
    took = page.evaluate("""() => { const start = performance.now();
        document.querySelectorAll("#table th button")[2].click();
        document.querySelector("input[value=uncertainty]").click();
        return performance.now() - start; }""")
    assert took < 1500


def test_classes_have_probabilities_and_a_reliability_diagram(opened, tmp_path):
    H, names, signal = planted()
    labels = np.where(signal > 0, "high", EVIL)
    model = hg.HypergraphGPClassifier(H, likelihood="probit", kernel="diffusion", learn=False, size_exponent=0.0)
    model.fit(names[:40], labels[:40])
    first, second = (model.explain(names[50], label=label) for label in model.classes_)
    assert first.prediction == -second.prediction != 0  # one latent function speaks for one class or the other
    held_out = assess(model, names[:40], labels[:40], folds=2)
    hg.write_report(model, tmp_path / "c.html", dict(zip(names[:40], labels[:40], strict=True)), assessment=held_out)
    page = opened(tmp_path / "c.html")
    page.locator("#next button").first.click()
    assert page.locator("#detail .bars").first.locator("li").count() == 2
    assert page.locator("#calibration circle").count() >= 1
    assert page.locator("#scores tbody tr").count() == 3
    assert page.evaluate("window.hurt") is None


def test_a_report_is_about_a_fitted_model_of_one_target(tmp_path):
    H, names, signal = planted()
    with pytest.raises(ValueError, match="not fitted"):
        hg.write_report(hg.HypergraphGPRegressor(H), tmp_path / "r.html", {})
    two = hg.HypergraphGPRegressor(H, learn=False).fit(names[:9], np.ones((9, 2)) * signal[:9, None])
    with pytest.raises(ValueError, match="one target"):
        hg.write_report(two, tmp_path / "r.html", {names[0]: 1.0})
    assert not list(tmp_path.iterdir())
