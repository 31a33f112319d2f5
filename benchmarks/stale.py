"""Which stored outcomes are older than the code they measured: ``python -m benchmarks.stale``.

Every outcome in ``benchmarks/results`` and ``results`` names the commit of the code that made it. It is stale once
something has changed since under ``src/hypergauss``, in the folders or files that its benchmark or study names in
``MEASURES`` (if it names none, in all from which figures of vertices come), or in that module. Nothing is run: a line
an outcome says whether it stands, and what changed if not.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_SOURCES = "src/hypergauss"
_COMMIT = re.compile(r"code\s+of\s+commit\s+([0-9a-f]{7,40})(\+?)")
#: Thin faces; studies, each of which is watched with its own outcome alone; what a fit is predicted to take, which
#: `planning` watches; and the version's name.
_FACES = ("cli", "experiments", "interop", "plotting", "report", "solvers/costs.py", "_version.py")
_STUDIES = f"{_SOURCES}/experiments"
#: Models that a benchmark or study of them names: the others use neither.
_APART = ("embedding", "factorisation")


class Outcome(NamedTuple):
    """A stored outcome, the module that made it, if there is one, and the folders or files whose code it measured."""

    path: str
    module: str | None
    measures: tuple[str, ...]


class Standing(NamedTuple):
    """Whether an outcome is of the code that stands, and why not."""

    outcome: Outcome
    is_stale: bool
    reason: str


def outcomes(root: Path = ROOT) -> Iterator[Outcome]:
    """Yield all stored outcomes: what benchmarks wrote, then what studies did."""
    for folder, modules in (("benchmarks/results", "benchmarks"), ("results", _STUDIES)):
        for path in sorted((root / folder).glob("*.txt")):
            module = _module(root, modules, path.stem)
            measures = () if module is None else measured((root / module).read_text())
            yield Outcome(f"{folder}/{path.name}", module, measures)


def _module(root: Path, folder: str, stem: str) -> str | None:
    """Return the module an outcome is named after: ``scale-huge.txt`` is of ``scale --huge``."""
    name = stem.replace("-", "_")
    while name:
        if (root / folder / f"{name}.py").exists():
            return f"{folder}/{name}.py"
        name = name.rpartition("_")[0]
    return None


def measured(source: str) -> tuple[str, ...]:
    """Return the folders and files of the package that a module names in ``MEASURES``; none stands for all."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["MEASURES"]:
            return tuple(ast.literal_eval(node.value))
    return ()


def standing(outcome: Outcome, root: Path = ROOT) -> Standing:
    """Compare an outcome with what has been committed since, and what has not been committed yet."""
    found = _COMMIT.search((root / outcome.path).read_text())
    if found is None:
        return Standing(outcome, True, "names no commit")
    commit, dirty = found.groups()
    if _git(root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
        return Standing(outcome, True, f"of {commit}, which this repository does not have")
    changed = set(_changed(root, commit, *_watched(outcome)))
    if outcome.module:
        changed |= set(_changed(root, commit, outcome.module))
    if dirty:
        return Standing(outcome, True, f"of {commit} with changes that were not committed")
    if changed:
        return Standing(outcome, True, f"of {commit}; since then {_listed(sorted(changed))}")
    return Standing(outcome, False, f"of {commit}")


def _watched(outcome: Outcome) -> list[str]:
    if outcome.measures:
        return [f"{_SOURCES}/{name}" for name in outcome.measures]
    return [_SOURCES, *(f":(exclude){_SOURCES}/{face}" for face in (*_FACES, *_APART))]


def _changed(root: Path, commit: str, *where: str) -> list[str]:
    return (_git(root, "diff", "--name-only", commit, "--", *where) or "").split()


def _listed(changed: Sequence[str]) -> str:
    """Name the folders in which files have changed, those with most first."""
    folders = [name.removeprefix(f"{_SOURCES}/").partition("/")[0] for name in changed]
    names = sorted(set(folders), key=lambda name: (-folders.count(name), name))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{len(changed)} file{'s' * (len(changed) > 1)} changed: {', '.join(names[:3])}{more}"


def _git(root: Path, *command: str) -> str | None:
    """Return what git says, or None where it fails."""
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def lines(found: Sequence[Standing]) -> list[str]:
    """Return a line an outcome, those to be rerun first, and one that counts them."""
    width = max((len(each.outcome.path) for each in found), default=0)
    ordered = sorted(found, key=lambda each: not each.is_stale)
    told = [f"{'stale ' if s.is_stale else 'stands'}  {s.outcome.path:{width}}  {s.reason}" for s in ordered]
    return [*told, f"{sum(s.is_stale for s in found)} of {len(found)} stored outcomes are to be rerun."]


if __name__ == "__main__":
    if _git(ROOT, "rev-parse", "HEAD") is None:
        sys.exit("This is no git checkout: commits cannot be compared.")
    print("\n".join(lines([standing(outcome) for outcome in outcomes()])))
