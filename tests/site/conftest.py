"""The built site: the folder that HYPERGAUSS_SITE names, or else one built here, without running galleries."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.conftest import browser, pages  # noqa: F401

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    if "HYPERGAUSS_SITE" in os.environ:
        return Path(os.environ["HYPERGAUSS_SITE"]).resolve()
    pytest.importorskip("sphinx", reason="Sphinx is not installed (extra `docs`)")
    pytest.importorskip("sphinx_gallery", reason="sphinx-gallery is not installed (extra `docs`)")
    folder = tmp_path_factory.mktemp("site")
    # In a copy, as galleries are written beside the pages. Running the tutorials and documenting every function take
    # minutes; `make docs` does both.
    made = shutil.ignore_patterns("_build", "_made", "tutorials", "gallery", "generated", "__pycache__")
    shutil.copytree(DOCS, folder / "docs", ignore=made)
    shutil.copytree(DOCS / "examples", folder / "docs" / "examples", dirs_exist_ok=True)
    for name in ("README.md", "results", "benchmarks", "src"):
        (folder / name).symlink_to(DOCS.parent / name)
    command = [sys.executable, "-m", "sphinx", "-q", "-D", "plot_gallery=0", "-D", "autosummary_generate=0"]
    run = subprocess.run([*command, str(folder / "docs"), str(folder / "html")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def making():
    """Return the modules that make what pages read."""
    sys.path.insert(0, str(DOCS))
    try:
        import making
        import making.benchmarks
        import making.catalogue

        yield making
    finally:
        sys.path.remove(str(DOCS))
