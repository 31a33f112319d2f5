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


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_figures_stand_in_the_stored_outcomes(page):
    if not README.exists() or not (ROOT / "results").exists():
        pytest.skip("the README and stored outcomes are not part of this installation")
    checked, strange = 0, []
    for part, outcome in measured((ROOT / page).read_text()):
        figures = re.findall(r"(?<![\w.])-?\d+\.\d+", re.sub(r"\]\([^)]*\)", "", part))
        known = [float(number) for number in re.findall(r"-?\d+\.\d+", outcome)]
        rounded = {digits: {f"{number:.{digits}f}" for number in known} for digits in range(1, 5)}
        checked += len(figures)
        strange += [figure for figure in figures if figure not in rounded[len(figure.split(".")[1])]]
    assert checked > (50 if page == "README.md" else 2)
    assert not strange, f"no stored outcome has {strange}"


def test_the_example_prints_what_stands_below_it():
    if not README.exists():
        pytest.skip("the README is not part of this installation")
    code, output = re.search(r"```python\n(.*?)```\n```\n(.*?)```", README.read_text(), re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == output
