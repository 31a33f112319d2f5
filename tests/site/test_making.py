"""What pages read when the site is built is what the package and the stored results say."""

import re

import pytest

import hypergauss as hg
from tests.site.conftest import DOCS

if not DOCS.exists():
    pytest.skip("the site is not part of this installation", allow_module_level=True)

ROOT = DOCS.parent


def test_the_catalogue_has_every_loader_and_counts_what_comes_with_the_package(making, tmp_path):
    making.catalogue.write(tmp_path)
    text = (tmp_path / "datasets.md").read_text(encoding="utf-8")
    names = [name for name in hg.datasets.__all__ if name[0].islower()]
    assert re.findall(r"### `(\w+)`", text) == sorted(names, key=lambda name: ("lfm".index(name[0]), name))
    for name in names:
        if name.startswith("load_"):
            H = getattr(hg.datasets, name)().hypergraph
            part = text.split(f"### `{name}`")[1].split("###")[0]
            assert f"| vertices | {H.num_vertices} |" in part
            assert f"| memberships | {H.num_incidences:,}, " in part


def test_every_stored_outcome_is_on_the_page_of_benchmarks_word_by_word(making, tmp_path):
    making.benchmarks.write(tmp_path, ROOT)
    pages = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("benchmarks-*.md"))
    stored = [*(ROOT / "results").glob("*.txt"), *(ROOT / "benchmarks" / "results").glob("*.txt")]
    assert len(stored) > 15
    for path in stored:
        assert path.read_text(encoding="utf-8").rstrip() in pages, path
    for picture in [*(ROOT / "results").glob("*.png"), *(ROOT / "benchmarks" / "results").glob("*.png")]:
        assert pages.count(f"(../{picture.relative_to(ROOT)})") == 1, picture
    assert {path.name for path in tmp_path.glob("*.png")} == {
        f"benchmarks-{name}.png" for name in ("densities", "few", "ratios")
    }


def test_ratios_are_read_as_they_are_stored(making):
    text = (ROOT / "benchmarks" / "results" / "check.txt").read_text(encoding="utf-8")
    rows = making.benchmarks.ratios(text)
    assert len(rows) == text.count("at most") > 3
    for now, target in rows.values():
        assert re.search(rf"│\s+{now:g}0* │.*at most {target:g}: {'met' if now <= target else 'MISSED'}", text)


def test_the_means_that_are_drawn_are_those_of_the_stored_table(making):
    table = making.benchmarks.scores(ROOT)
    line = next(
        line
        for line in (ROOT / "results" / "defaults.txt")
        .read_text(encoding="utf-8")
        .split("│ house-votes ")[1]
        .split("\n")
        if "default" in line
    )
    mean, error = table.loc[("house-votes", "default"), "density"]
    assert f"{mean:.3f} ± {error:.3f}" in line


def test_names_on_the_page_of_notation_exist():
    H = hg.Hypergraph.from_edges([["a", "b"], ["b", "c"]])
    model = hg.HypergraphGPRegressor(H, learn=False).fit(["a", "c"], [0.0, 1.0])
    owners = {"H": H, "hg": hg, "posterior_": model.posterior_, "kernel": hg.kernels.Matern(hg.Spectrum.of(H))}
    text = (DOCS / "notation.md").read_text(encoding="utf-8")
    named = re.findall(r"`(H|hg|posterior_|kernel)\.(\w+)", text)
    assert len(named) > 8
    for owner, name in named:
        assert hasattr(owners[owner], name), f"{owner}.{name}"
    for name in ("vertex_vectors", "singular_values", "edge_vectors"):
        assert f"`{name}`" in text
        assert hasattr(hg.Spectrum.of(H), name)
