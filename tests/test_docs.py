"""The code on the how-to pages, and on theory pages with small examples, runs."""

import contextlib
import io
import re
from functools import partial
from pathlib import Path

import pytest

import hypergauss

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    *(DOCS / f"{name}.md" for name in ("choose", "sharp-bits")),
    *sorted((DOCS / "howto").glob("*.md")),
    *(DOCS / "theory" / f"{name}.md" for name in ("averaging", "laplacians")),
]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_code_on_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, few_points):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if page.stem == "clusters":  # workers in processes of their own are started in tests of the operator
        distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install hypergauss[dask]")
        monkeypatch.setattr(distributed, "LocalCluster", partial(distributed.LocalCluster, processes=False))
    if page.stem == "ratings":  # how many chains are good enough is tested where they are made
        monkeypatch.setattr(hypergauss, "KPMF", partial(hypergauss.KPMF, chains=2, warm_up=20))
    if page.stem == "scale":  # and so are probes
        monkeypatch.setattr(hypergauss.Markov, "probes_for", lambda *_: 4)
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(blocks), {})
