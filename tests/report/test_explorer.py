"""The explorer in a real browser: map, filters, hyperedges and table as one, at desk and phone, in light and dark."""

import csv
import io
import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

import hypergauss as hg
from hypergauss.analysis.assessment import assess
from hypergauss.report import content, light
from tests.report.conftest import EVIL, content_of, planted

DESK, PHONE = {"viewport": {"width": 1280, "height": 900}}, {"viewport": {"width": 390, "height": 800}}
PHONE |= {"is_mobile": True, "has_touch": True}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def classes_path(tmp_path_factory):
    H, names, signal = planted()
    labels = pd.Series(np.where(signal > 0.4, "high", np.where(signal < -0.4, "low", "middle")), index=pd.Index(names))
    observed = labels.iloc[:40].copy()
    observed.iloc[::9] = observed.iloc[::9].map({"high": "low", "low": "middle", "middle": "high"})  # to be found
    model = hg.HypergraphGPClassifier(H, learn=False, size_exponent=0.0).fit(observed.index, observed)
    path = tmp_path_factory.mktemp("classes") / "classes.html"
    held_out = assess(model, observed.index, observed, folds=4)
    hg.write_report(model, path, observed, assessment=held_out, title="Three classes")
    return path


@pytest.fixture(scope="module")
def light_path(regression, tmp_path_factory):
    model, observed, held_out = regression
    path = tmp_path_factory.mktemp("light") / "light.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(light, "MOST_VERTICES", 50)
        patch.setattr(light, "SAMPLE", 40)
        hg.write_report(model, path, observed, assessment=held_out)
    return path


def counted(page):
    """Return how many vertices are said to be shown, in map and table, which must agree."""
    page.wait_for_timeout(40)
    above, below = (int(page.locator(which).inner_text().split()[0]) for which in ("#inside", "#count"))
    assert above == below == int(page.locator("#table table").get_attribute("aria-rowcount")) - 1
    return above


def circle(page, corners):
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + corners[0][0] * box["width"], box["y"] + corners[0][1] * box["height"])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
    page.mouse.up()


def downloaded(page, press):
    with page.expect_download() as waiting:
        press()
    return waiting.value.suggested_filename, waiting.value.path().read_text(encoding="utf-8")


def test_a_lasso_selects_on_the_map_and_in_the_table_and_the_panel_sums_it_up(opened, page_path):
    page = opened(page_path, **DESK)
    assert counted(page) == 60
    page.click("#lasso")
    circle(page, [(0.02, 0.15), (0.5, 0.15), (0.5, 0.98), (0.02, 0.98)])
    some = counted(page)
    assert 0 < some < 60
    assert "What is shown" in page.locator("#detail").inner_text()
    page.click("#limits button")
    assert counted(page) == 60
    page.click("#lasso")
    page.keyboard.down("Shift")
    circle(page, [(0.02, 0.15), (0.5, 0.15), (0.5, 0.98), (0.02, 0.98)])
    page.keyboard.up("Shift")
    assert counted(page) == some


def test_wheel_zooms_drag_moves_and_keys_do_the_same(opened, page_path):
    page = opened(page_path, **DESK)
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    pictures = [page.locator("#map").screenshot()]

    def changed():
        page.mouse.move(5, 5)
        page.wait_for_timeout(60)
        pictures.append(page.locator("#map").screenshot())
        return pictures[-1] != pictures[-2]

    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -400)
    assert changed()
    circle(page, [(0.5, 0.5), (0.3, 0.3)])
    assert changed()
    page.click("#whole")
    assert changed()
    assert pictures[-1] == pictures[0]
    page.focus("#map")
    page.keyboard.press("+")
    assert changed()
    page.keyboard.press("0")
    assert changed()


def test_two_fingers_zoom_on_a_phone(opened, page_path):
    page = opened(page_path, **PHONE)
    page.locator("#map").scroll_into_view_if_needed()
    before = page.locator("#map").screenshot()
    page.evaluate("""() => { const map = document.getElementById("map"), box = map.getBoundingClientRect();
        map.setPointerCapture = () => {};
        const send = (type, id, x) => map.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: "touch",
            clientX: box.left + x, clientY: box.top + 150, bubbles: true }));
        send("pointerdown", 1, 150); send("pointerdown", 2, 200);
        for (let k = 0; k < 10; k++) { send("pointermove", 1, 150 - 8 * k); send("pointermove", 2, 200 + 8 * k); }
        send("pointerup", 1, 70); send("pointerup", 2, 280); }""")
    page.wait_for_timeout(80)
    assert page.locator("#map").screenshot() != before
    assert (
        page.evaluate("document.getElementById('map').style.touchAction") == "none"
    )  # zoomed in, fingers move the map


def test_rows_and_points_answer_one_another(opened, page_path):
    page = opened(page_path, **DESK)
    page.locator("#table tbody tr[data-vertex='5']").hover()
    ring = page.locator("#ring")
    first = ring.bounding_box()
    page.locator("#table tbody tr[data-vertex='7']").hover()
    second = ring.bounding_box()
    assert second != first
    assert page.locator("#table tr.hover").get_attribute("data-vertex") == "7"
    page.mouse.move(5, 5)
    assert not ring.is_visible()
    before = page.locator("#map").bounding_box()
    page.locator("#map").scroll_into_view_if_needed()
    after = page.locator("#map").bounding_box()
    x = second["x"] + second["width"] / 2 - before["x"] + after["x"]
    y = second["y"] + second["height"] / 2 - before["y"] + after["y"]
    page.mouse.move(x, y)  # there is vertex 7
    assert page.locator("#tip").inner_text().startswith("vertex 7:")
    page.click("#closer")
    assert not page.locator("#tip").is_visible()
    page.locator("#table tbody tr[data-vertex='7']").click()
    assert page.locator("#detail h3").inner_text() == "vertex 7"
    page.fill("#search", "vertex 52")
    page.press("#search", "Enter")
    page.wait_for_timeout(60)
    assert page.locator("#table tr.chosen").get_attribute("data-vertex") == "52"


@pytest.mark.parametrize("device", [DESK, PHONE])
def test_the_tip_of_a_hover_stays_inside_the_map_and_nothing_is_measured_for_it(opened, page_path, device):
    page = opened(page_path, **device)
    page.locator("#map").scroll_into_view_if_needed()
    seen = page.evaluate("""() => {
        const map = document.getElementById("map"), tip = document.getElementById("tip");
        const box = map.getBoundingClientRect(), found = [];
        let measured = 0;
        const counted = { get() { measured++; return 0; } };
        for (const name of ["offsetWidth", "offsetHeight"]) Object.defineProperty(tip, name, counted);
        for (let x = 0.01; x < 1; x += 0.07) for (let y = 0.01; y < 1; y += 0.07) {
            const at = { clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true };
            map.dispatchEvent(new PointerEvent("pointermove", at));
            const { left, right, top, bottom } = tip.getBoundingClientRect();
            const isAcross = left >= box.left && right <= box.right, isDown = top >= box.top && bottom <= box.bottom;
            if (!tip.hidden) found.push(isAcross && isDown);
        }
        return [found.length, found.every((is) => is), measured]; }""")
    assert seen[0] > 10
    assert seen[1:] == [True, 0]


def test_filters_leave_who_is_asked_for(opened, classes_path):
    page = opened(classes_path, **DESK)
    page.select_option("#only-observed", label="not observed")
    assert counted(page) == 20
    page.select_option("#only-observed", index=0)
    page.select_option("#only-missed", label="wrong in cross-validation")
    wrong = counted(page)
    total = int(page.locator("#confusion-text").inner_text().split(", ")[1].split()[0])
    assert wrong == total > 0
    assert page.locator("#table tr.missed").count() == wrong
    page.select_option("#only-missed", index=0)
    page.select_option("#only-doubt", label="most uncertain tenth")
    assert 0 < counted(page) < 20
    page.click("#limits button")
    assert counted(page) == 60
    assert page.locator("#only-doubt").evaluate("select => select.selectedIndex") == 0


def test_a_legend_entry_lights_up_its_class_and_again_all(opened, classes_path):
    page = opened(classes_path, **DESK)
    entry = page.locator("#legend button", has_text="low")
    entry.click()
    some = counted(page)
    assert 0 < some < 60
    assert page.locator("#legend button", has_text="low").get_attribute("aria-pressed") == "true"
    assert page.locator("#only-class").evaluate("select => select.selectedOptions[0].textContent") == "low"
    entry.click()
    assert counted(page) == 60


def test_a_hyperedge_has_a_panel_and_lights_up_its_members(opened, classes_path):
    page = opened(classes_path, **DESK)
    page.fill("#search", "edge 3")
    page.locator("#matches button", has_text="hyperedge").first.click()
    detail = page.locator("#detail").inner_text()
    assert "edge 3" in detail
    assert "It speaks for" in detail
    members = int(detail.split(" members")[0].split()[-1])
    assert counted(page) == members
    page.locator("#detail .names .link").first.click()
    assert page.locator("#detail .kind").inner_text() == "vertex"
    page.click("text=Back to edge 3")
    assert page.locator("#detail h3").inner_text() == "edge 3"
    page.click("text=Back to all")
    assert counted(page) == 60
    page.locator("#detail .bars .link").first.click()
    assert page.locator("#detail .kind").inner_text() == "hyperedge"


def test_the_panel_is_never_blank_and_an_empty_search_says_so(opened, page_path):
    page = opened(page_path, **DESK)
    assert "Hyperedges that say most" in page.locator("#detail").inner_text()
    page.fill("#search", "no such name")
    assert "Nothing here is named “no such name”" in page.locator("#matches").inner_text()
    page.fill("#filter", "no such name")
    assert "No vertex is named “no such name”. Show all" in page.locator("#table").inner_text()
    assert "No vertex is left" in page.locator("#detail").inner_text()
    page.locator("#table .link").click()
    assert counted(page) == 60


def test_numbers_of_a_column_have_as_many_decimals(opened, page_path):
    page = opened(page_path, **DESK)
    page.click("#table th >> nth=1")  # those observed come first
    page.wait_for_timeout(40)
    rows = [row.locator("td").all_inner_texts() for row in page.locator("#table tbody tr[data-vertex]").all()]
    for column in list(zip(*rows, strict=True))[1:]:
        decimals = {len(text.partition(".")[2]) for text in column}
        assert len(decimals) == 1, column


def test_names_on_the_map_stand_beside_their_points_and_inside(opened, page_path):
    page = opened(page_path, **DESK)
    page.evaluate("""() => { const pen = CanvasRenderingContext2D.prototype, fill = pen.fillText;
        pen.fillText = function (text, x, y) { window.written.push([text, x, y, this.measureText(text).width]);
            return fill.call(this, text, x, y); }; window.written = []; }""")
    vertices = content_of(page.content())["vertices"]
    width, height = page.evaluate("[map.clientWidth, map.clientHeight]")
    points = [
        (22 + x * (width - 44), 22 + (1 - y) * (height - 44)) for x, y in zip(*map(vertices.get, "xy"), strict=True)
    ]
    edge = int(np.argmax(vertices["x"][:-1]))  # where there is no room on the right
    page.fill("#filter", vertices["names"][edge])
    page.locator(f"#table tbody tr[data-vertex='{edge}']").click()
    page.evaluate("window.written = []")
    page.locator("#detail .bars .link").first.click()
    page.click("#limits button >> nth=0")
    page.wait_for_timeout(60)
    written = page.evaluate("window.written")
    assert vertices["names"][edge] in [text for text, *_ in written]
    for text, x, y, long in written:
        own_x, own_y = points[vertices["names"].index(text)]
        assert own_x + 3 <= x or x + long <= own_x - 3 or own_y + 3 <= y - 10 or y <= own_y - 3, text
        assert 0 <= x <= x + long <= width, text


def test_an_observed_vertex_is_shown_beside_what_is_predicted_without_it(opened, page_path, classes_path):
    page = opened(page_path, **DESK)
    page.fill("#filter", "vertex 30")
    assert page.locator("#table th").last.inner_text() == "without it"
    assert page.locator("#table tbody tr[data-vertex] td").last.inner_text() != ""
    page.locator("#table tbody tr[data-vertex]").click()
    assert "Predicted from all other observations" in page.locator("#detail").inner_text()
    page = opened(classes_path, **DESK)
    page.locator("#surprising .link").first.click()
    assert "its own class had" in page.locator("#detail").inner_text()


def test_a_cell_of_the_confusion_matrix_shows_its_vertices(opened, classes_path):
    page = opened(classes_path, **DESK)
    cell = page.locator("#confusion td:not(.right) button").first
    number = int(cell.inner_text())
    cell.click()
    assert counted(page) == number
    assert "taken for" in page.locator("#limits").inner_text()


def test_what_is_shown_can_be_kept_as_a_table_that_no_spreadsheet_runs(opened, tmp_path):
    H = hg.Hypergraph.from_edges([["=1+1", 'say "a, b"', "plain"], ["plain", "other"]])
    model = hg.HypergraphGPRegressor(H, learn=False).fit(["plain", "other"], [1.0, 2.0])
    hg.write_report(model, tmp_path / "r.html", {"plain": 1.0, "other": 2.0})
    page = opened(tmp_path / "r.html", **DESK)
    page.select_option("#only-observed", label="not observed")
    name, text = downloaded(page, lambda: page.click("#csv"))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert name == "selection.csv"
    assert [row["vertex"] for row in rows] == ["'=1+1", 'say "a, b"']
    assert float(rows[0]["predicted"]) == pytest.approx(model.predict(["=1+1"])[0], rel=1e-4)


@pytest.mark.parametrize("figure", ["#map-svg", "#calibration .quiet", "#filter-curves .quiet"])
def test_every_figure_can_be_kept_as_a_drawing_that_stands_alone(opened, page_path, figure):
    page = opened(page_path, **DESK)
    name, text = downloaded(page, lambda: page.click(figure))
    assert name.endswith(".svg")
    drawing = ElementTree.fromstring(text)
    assert drawing.tag == f"{SVG}svg"
    assert "var(" not in text
    assert len(list(drawing)) > 10


def test_axis_titles_and_numbers_do_not_overlap(opened, tmp_path):
    H, names, signal = planted()
    observed = dict(zip(names, 1e5 * signal - 3e5, strict=True))  # long numbers on both axes
    model = hg.HypergraphGPRegressor(H, learn=False, size_exponent=0.0).fit(names, list(observed.values()))
    held_out = assess(model, names, list(observed.values()), folds=2)
    hg.write_report(model, tmp_path / "r.html", observed, assessment=held_out)
    page = opened(tmp_path / "r.html", **DESK)
    boxes = page.evaluate("""() => [...document.querySelectorAll("#calibration svg text, #filter-curves svg text")]
        .filter((t) => t.textContent).map((t) => { const b = t.getBoundingClientRect();
            return [t.textContent, b.left, b.right, b.top, b.bottom]; })""")
    for (one, *a), (other, *b) in itertools.combinations(boxes, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (one, other)


def test_colours_of_classes_are_not_those_of_for_and_against(opened, classes_path):
    page = opened(classes_path, **DESK)
    page.locator("#table tbody tr[data-vertex]").first.click()
    lists = page.locator("#detail .bars")
    colours = [
        set(each.locator("b").evaluate_all("all => all.map((b) => getComputedStyle(b).backgroundColor)"))
        for each in lists.all()
    ]
    assert len(colours) == 2
    assert not colours[0] & colours[1]


def test_uncertainty_is_coloured_by_quantile(opened, classes_path):
    page = opened(classes_path, **DESK)
    page.check("input[value=uncertainty]")
    marks = page.locator("#legend .marks span").all_inner_texts()
    assert len(marks) == 5
    assert "by quantile" in page.locator("#legend").inner_text()


def test_a_light_page_counts_all_and_searches_some(opened, light_path):
    page = opened(light_path, **DESK)
    assert "60 vertices are more than a page holds" in page.locator("#light").inner_text()
    assert counted_sample(page) == 40
    box = page.locator("#map").bounding_box()
    seen = set()
    for x, y in itertools.product(np.linspace(0.05, 0.95, 12), repeat=2):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if page.locator("#tip").is_visible():
            seen.add(page.locator("#tip").inner_text())
    assert seen
    page.fill("#search", "nobody")
    assert "predictions.csv" in page.locator("#matches").inner_text()


def test_a_model_of_draws_alone_has_a_page_without_what_draws_cannot_tell(opened, regression, monkeypatch, tmp_path):
    model, observed, _ = regression
    monkeypatch.setattr(content, "_is_sampled", lambda _: True)
    monkeypatch.setattr(content.judging, "left_out", lambda *_: None)
    hg.write_report(model, tmp_path / "draws.html", observed)
    page = opened(tmp_path / "draws.html", **DESK)
    page.locator("#table tbody tr[data-vertex]").first.click()
    assert page.locator("#detail h3").inner_text() == "vertex 0"
    assert "without it" not in page.locator("#table").inner_text()
    for section in ("next", "surprising", "confusion", "scores", "calibration"):
        assert not page.locator(f"#{section}-section").is_visible()


def counted_sample(page):
    assert page.locator("#inside").inner_text().startswith("Sample of")
    return int(page.locator("#count").inner_text().split()[0])


STATES = {
    "first": lambda page: None,
    "vertex": lambda page: page.locator("#table tbody tr[data-vertex]").first.click(),
    "hyperedge": lambda page: page.locator("#detail .bars .link").first.click(),
    "uncertainty": lambda page: page.check("input[value=uncertainty]"),
    "filtered": lambda page: page.select_option("#only-observed", label="not observed"),
    "zoomed": lambda page: [page.click("#closer") for _ in range(3)],
    "searched": lambda page: page.fill("#search", "vertex 3"),
    "lasso": lambda page: page.click("#lasso"),
    "empty": lambda page: page.fill("#filter", EVIL + "nobody"),
}


#: Every page on either screen and in either scheme; a layout does not depend on colours.
@pytest.mark.parametrize(
    ("which", "device", "scheme"),
    [
        ("classes_path", DESK, "light"),
        ("classes_path", PHONE, "dark"),
        ("page_path", PHONE, "light"),
        ("light_path", DESK, "dark"),
    ],
)
def test_every_state_fits_its_screen_and_differs_from_the_others(opened, request, tmp_path, which, device, scheme):
    pictures = []
    page = opened(request.getfixturevalue(which), color_scheme=scheme, **device)
    for state, reach in STATES.items():
        page.reload()
        reach(page)
        page.wait_for_timeout(60)
        assert page.evaluate("document.documentElement.scrollWidth") <= device["viewport"]["width"], state
        pictures.append(page.screenshot(path=tmp_path / f"{state}.jpg", full_page=True, type="jpeg"))
    assert len(set(pictures)) == len(STATES)
