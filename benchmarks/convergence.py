"""Do the chains of the factorisation agree? R-hat and effective sample sizes on MovieLens 100K (u1), by ArviZ.

`KPMF` as it is but with four chains, which are drawn until they agree or a limit is reached. Watched is what the data
identify: predictions of fifty rated pairs, the variances of the biases (users, items; with what the other side's mean
factors add to them), of the centred factors' products and of the noise, on the scale where ratings have variance 1; of
several numbers the median and the worst. R-hat compares the variance between chains with that within them; the sizes
say how many independent draws the chains are worth for a mean and for the 5% and 95% quantiles. Skipped where
HYPERGAUSS_DATA is not set.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from rich.table import Table

from benchmarks.common import is_quick, publish, table
from hypergauss import KPMF
from hypergauss.datasets import fetch_movielens_100k
from hypergauss.experiments.movielens import score
from hypergauss.experiments.movielens_splits import Split, splits
from hypergauss.factorisation.chains import MOST_RHAT

#: What its outcome depends on (`benchmarks.stale`).
MEASURES = ("factorisation", "hypergraph", "kernels/filters.py", "likelihoods/ordinal.py", "operators", "spectrum")

CHAINS = 4
QUICK = {"warm_up": 5, "draws": 10}


def summary(data: Any) -> list[list[str]]:
    """Return a row for each quantity: how many numbers, worst and median R-hat, least and median sizes."""
    import arviz

    rows = []
    for name in data.posterior.data_vars:
        found = [np.ravel(function(data)[name]) for function in (arviz.rhat, arviz.ess, _tail_size)]
        rhat, bulk, tail = found
        rows.append(
            [
                name.replace("_", " "),
                f"{len(rhat)}",
                f"{np.median(rhat):.3f}",
                f"{rhat.max():.3f}",
                f"{np.median(bulk):,.0f}",
                f"{bulk.min():,.0f}",
                f"{tail.min():,.0f}",
                _means(data.posterior[name]),
            ]
        )
    return rows


def _means(draws: Any) -> str:
    """Return the least and the largest mean of a chain, for quantities of few numbers."""
    means = draws.mean("draw").to_numpy().reshape(draws.sizes["chain"], -1)
    return "; ".join(f"{own.min():.3f} to {own.max():.3f}" for own in means.T) if means.shape[1] <= 2 else ""


def _tail_size(data: Any) -> Any:
    import arviz

    return arviz.ess(data, method="tail")


COLUMNS = ("", "", "R-hat", "worst", "bulk size", "least", "tail, least", "means of chains")


def run(split: Split, length: dict[str, int]) -> tuple[Table, str]:
    """Fit and return the table of what is watched, and a line on error, density and processor time."""
    model = KPMF(chains=CHAINS, bounds=(1, 5), random_state=0, **length)
    outcome = score(model, split)
    rows = summary(model.inference_data())
    title = f"{model.chains} chains of {model.warm_up:,} sweeps to warm up and {outcome['draws']:,} draws"
    worst = max(float(row[3]) for row in rows)
    met = "met" if worst <= MOST_RHAT else "MISSED"
    line = (
        f"{title}: RMSE {outcome['rmse']:.4f}, density {outcome['density']:.4f}, coverage {outcome['coverage']:.3f}, "
        f"{outcome['seconds']:.0f} s of processor time; worst R-hat {worst:.3f} (at most {MOST_RHAT}: {met})"
    )
    return table(title, COLUMNS, rows), line


def main(*, quick: bool) -> None:
    if "HYPERGAUSS_DATA" not in os.environ:
        print("convergence is skipped: HYPERGAUSS_DATA does not name the folder of the development data.")
        return
    split = next(splits(fetch_movielens_100k(), range(0)))
    found, line = run(split, QUICK if quick else {})
    publish("convergence", [found], [line], quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
