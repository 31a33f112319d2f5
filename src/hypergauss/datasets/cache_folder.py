"""Where files are kept that can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path

#: Names the folder, in place of ~/.cache/hypergauss.
VARIABLE = "HYPERGAUSS_CACHE"


def cache_folder() -> Path:
    """Return the folder that HYPERGAUSS_CACHE names, or ~/.cache/hypergauss."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "hypergauss")
