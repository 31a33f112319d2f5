"""The folder of data that may not be redistributed, where it is at hand."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def data_folder():
    if not os.environ.get("HYPERGAUSS_DATA"):
        pytest.skip("HYPERGAUSS_DATA is not set: the development data are not at hand")
    return Path(os.environ["HYPERGAUSS_DATA"])
