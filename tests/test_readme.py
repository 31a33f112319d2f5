"""The README's example prints what the README says, and its figures stand in the outcomes of the commands it names."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def measured():
    """Yield each paragraph and table of "Measured" that names a stored outcome, with the outcome's text."""
    section = README.read_text().split("## Measured\n")[1].split("\n## ")[0]
    for part in re.split(r"\n\n(?=[^|\n])", section):
        named = [ROOT / name for name in re.findall(r"\]\(((?:benchmarks/)?results/[\w.-]+\.txt)\)", part)]
        if named:
            yield part, "".join(path.read_text() for path in named)


def test_figures_stand_in_the_stored_outcomes():
    if not README.exists() or not (ROOT / "results").exists():
        pytest.skip("the README and stored outcomes are not part of this installation")
    checked, strange = 0, []
    for part, outcome in measured():
        figures = re.findall(r"(?<![\w.])-?\d+\.\d+", re.sub(r"\]\([^)]*\)", "", part))
        known = [float(number) for number in re.findall(r"-?\d+\.\d+", outcome)]
        rounded = {digits: {f"{number:.{digits}f}" for number in known} for digits in range(1, 5)}
        checked += len(figures)
        strange += [figure for figure in figures if figure not in rounded[len(figure.split(".")[1])]]
    assert checked > 50
    assert not strange, f"no stored outcome has {strange}"


def test_the_example_prints_what_stands_below_it():
    if not README.exists():
        pytest.skip("the README is not part of this installation")
    code, output = re.search(r"```python\n(.*?)```\n```\n(.*?)```", README.read_text(), re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == output
