"""What made a stored outcome: the version, and the commit where the code is a git checkout."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_LIBRARIES = ("hypergauss", "numpy", "scipy")


def origin() -> str:
    """Return versions and, where this is a checkout, the commit."""
    found = commit()
    return ", ".join(f"{name} {version(name)}" for name in _LIBRARIES) + (
        f"; the code of commit {found}" if found else ""
    )


def commit(package: Path = _PACKAGE) -> str | None:
    """Return the commit of the package's checkout, with a plus sign where its code has changed since; else None."""
    root = package.parents[1]
    if not (root / ".git").exists() or package.parent.name != "src":  # installed, maybe inside another repository
        return None
    known = _git(root, "rev-parse", "--short=7", "HEAD")
    return None if not known else known + "+" * bool(_git(root, "status", "--porcelain", "--", "src"))


def _git(root: Path, *command: str) -> str:
    try:
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False)
    except OSError:  # no git here
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
