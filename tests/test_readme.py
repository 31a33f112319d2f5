"""The README's example prints what the README says, and its figures stand in the outcomes of the commands it names."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
#: Pages that copy figures of outcomes which they name.
PAGES = ("docs/theory/classification.md",)


def measured(text):
    """Yield each paragraph, with the table below it, that names stored outcomes, and the outcomes' text."""
    for part in re.split(r"\n\n(?=[^|\n])", text):
        named = [ROOT / name for name in re.findall(r"((?:benchmarks/)?results/[\w-]+\.txt)", part)]
        if named and "literalinclude" not in part:
            yield part, "".join(path.read_text() for path in named)


def unknown_figures(text, outcome):
    """Return how many figures a text has, and those that no number of an outcome rounds to."""
    figures = re.findall(r"(?<![\w.])-?\d+\.\d+", re.sub(r"\]\([^)]*\)", "", text))
    known = [float(number) for number in re.findall(r"-?\d+\.\d+", outcome)]
    rounded = {digits: {f"{number:.{digits}f}" for number in known} for digits in range(1, 5)}
    return len(figures), [figure for figure in figures if figure not in rounded[len(figure.split(".")[1])]]


def rows_of(outcome):
    """Return the rows of an outcome's tables by name, each with the text of it and of those indented below, by name."""
    found, heading = {}, None
    for line in outcome.splitlines():
        cells = line.split("│")[1:-1]
        if not cells or not cells[0].strip():
            continue
        name = cells[0].strip()
        if not cells[0].startswith("   "):
            heading = found.setdefault(name, {})
        if heading is not None:
            heading[name] = heading.get(name, "") + " ".join(cells[1:]) + "\n"
    return found


def tables_of(part):
    """Yield the rows of a page's tables: the name in the first column, and each other cell with its column's name."""
    for table in re.findall(r"(?:^\|.*\n?)+", part, re.MULTILINE):
        lines = [[cell.strip(" *`") for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
        for name, *cells in lines[2:]:
            yield name, list(zip(lines[0][1:], cells, strict=True))


def misplaced(part, outcome):
    """Return how many rows of a page could be held to a row of an outcome, and figures that do not stand there.

    A row is that of the same name, or of the longest that it begins with; where rows stand below a heading, a cell is
    held to the one that its column is called like, if there is one.
    """
    stored, held, strange = rows_of(outcome), 0, []
    for name, cells in tables_of(part):
        own = max((key for key in stored if name.lower().startswith(key.lower())), key=len, default=None)
        if own is None:
            continue
        held += 1
        for column, cell in cells:
            place = stored[own].get(column, "".join(stored[own].values()))
            strange += [f"{name}: {figure}" for figure in unknown_figures(cell, place)[1]]
    return held, strange


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_figures_stand_in_the_stored_outcomes_each_in_its_row(page):
    if not README.exists() or not (ROOT / "results").exists():
        pytest.skip("the README and stored outcomes are not part of this installation")
    checked, rows, strange = 0, 0, []
    for part, outcome in measured((ROOT / page).read_text()):
        count, missing = unknown_figures(part, outcome)
        held, elsewhere = misplaced(part, outcome)
        checked, rows, strange = checked + count, rows + held, [*strange, *missing, *elsewhere]
    assert checked > (50 if page == "README.md" else 2)
    assert rows >= (30 if page == "README.md" else 0)
    assert not strange, f"no stored outcome has {strange}, or not in that row"


def test_a_figure_in_the_wrong_row_is_found():
    outcome = "│ a │ 0.51 │ 0.62 │\n│ b │ │ │\n│   default │ 0.13 │ 0.14 │\n│   peer │ 0.25 │ 0.26 │\n"
    page = "results/x.txt\n\n| name | default | peer |\n|---|---:|---:|\n"
    assert misplaced(
        page + "| a | 0.5 | 0.6 |\n| **b, more** | 0.13 / **0.14** | 0.25 |\n| c | 9.9 | 9.9 |\n", outcome
    ) == (2, [])
    assert misplaced(page + "| a | 0.13 | 0.6 |\n| b | 0.25 | 0.13 |\n", outcome)[1] == [
        "a: 0.13",
        "b: 0.25",
        "b: 0.13",
    ]


def test_the_example_prints_what_stands_below_it():
    if not README.exists():
        pytest.skip("the README is not part of this installation")
    code, output = re.search(r"```python\n(.*?)```\n```\n(.*?)```", README.read_text(), re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == output
