"""Splits of the MovieLens ratings: the official u1, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from hypergauss.datasets import MovieLens

_SHARES = (0.2, 0.8)


class Split(NamedTuple):
    """Ratings to learn from and to predict, and what the split is called."""

    name: str
    seed: int
    train: pd.DataFrame
    test: pd.DataFrame


def splits(data: MovieLens, seeds: range) -> Iterator[Split]:
    """Yield the official split and the random ones, seed after seed."""
    yield Split("u1", 0, *data.official)
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(data.ratings))
        for share in _SHARES:
            held_out = round(share * len(order))
            test, train = data.ratings.iloc[order[:held_out]], data.ratings.iloc[order[held_out:]]
            yield Split(f"{share:.0%}", seed, train, test)
