r"""The paper's factorisation of ratings at its mode (section 4.3), beside what says how good that is.

The paper gives initial values, variance 1, nu 1.5 and lengthscale 5 (Appendix A), not those of the noise, the number of
factors or whether ratings are centred. So rows stand at its variance and at a smaller one, of ratings less their mean
and as they are; with them stand the constant, shrunk biases alone, and factors that know no hypergraph.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rich.table import Table

from hypergauss.exceptions import UnseenWarning
from hypergauss.experiments.movielens_splits import Split
from hypergauss.experiments.tables import make_table
from hypergauss.factorisation import KPMF

#: RMSE of the paper's table 4, with 20% and with 80% held out.
PAPER = {"diffusion": ("1.39", "1.51"), "hypergraph": ("1.21", "1.27"), "hypergraph, sparse": ("1.40", "1.56")}
_KERNELS: dict[str, dict[str, Any]] = {
    "independent": {"kernel": "independent"},
    "diffusion": {"kernel": "diffusion"},
    "hypergraph": {},
    "hypergraph, sparse": {"inducing": (45, 80)},
}
_MODE: dict[str, Any] = {"n_factors": 10, "inference": "map", "biases": False, "max_iterations": 25}
_VARIANCES, _MEANS = (1.0, 0.1), {"learned": "centred", "zero": "as they are"}
#: Kernels and variances of the figure.
_DRAWN = ("independent", "diffusion", "hypergraph")
_CURVE = (0.03, 0.1, 0.3, 1.0, 3.0)
#: Ratings of a user or film at which their bias is half of their mean deviation.
_HALF = 5.0


def constant(split: Split) -> float:
    """Return the RMSE of the mean of all ratings."""
    return _rmse(np.full(len(split.test), split.train["rating"].mean()), split)


def biases_only(split: Split) -> float:
    """Return the RMSE of mu + b_i + c_j, each the mean of what the others leave, shrunk by n / (n + 5)."""
    train, mu = split.train, split.train["rating"].mean()
    b, c = pd.Series(0.0, train["user"].unique()), pd.Series(0.0, train["film"].unique())
    for _ in range(20):
        left = train["rating"] - mu - train["film"].map(c)
        b = left.groupby(train["user"]).sum() / (left.groupby(train["user"]).size() + _HALF)
        left = train["rating"] - mu - train["user"].map(b)
        c = left.groupby(train["film"]).sum() / (left.groupby(train["film"]).size() + _HALF)
    test = split.test
    return _rmse((mu + test["user"].map(b).fillna(0.0) + test["film"].map(c).fillna(0.0)).to_numpy(), split)


def mode(split: Split, *, kernel: str, variance: float, mean: str, max_iterations: int) -> float:
    """Return the RMSE of the paper's model at its mode."""
    options = {**_MODE, **_KERNELS[kernel], "variance": variance, "mean": mean, "max_iterations": max_iterations}
    model = KPMF(**options, bounds=(1.0, 5.0), random_state=split.seed)
    model.fit(split.train["user"], split.train["film"], split.train["rating"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenWarning)
        return _rmse(model.predict(split.test["user"], split.test["film"]), split)


def _rmse(predicted: np.ndarray, split: Split) -> float:
    return float(np.sqrt(((np.clip(predicted, 1.0, 5.0) - split.test["rating"].to_numpy(float)) ** 2).mean()))


def scores(
    splits: list[Split], curve: Split, path: Path, *, max_iterations: int = 25, is_made: bool = True
) -> pd.DataFrame:
    """Return the RMSE of all rows and of the curve; those that the file has are not made again, others if asked for."""
    rows: list[dict[Any, Any]] = pd.read_csv(path).to_dict("records") if path.is_file() else []
    done = {(row["split"], row["seed"], row["model"], row["variance"], row["mean"]) for row in rows}
    jobs: list[tuple[Split, str, float, str]] = []
    for split in splits:
        jobs += [(split, name, 0.0, "learned") for name in ("constant", "biases only")]
        jobs += [(split, k, variance, mean) for variance in _VARIANCES for mean in _MEANS for k in _KERNELS]
    jobs += [(curve, k, v, "learned") for k in _DRAWN for v in _CURVE]
    for split, name, variance, mean in jobs if is_made else []:
        if (split.name, split.seed, name, variance, mean) in done:
            continue
        clock = time.perf_counter()
        if name in _KERNELS:
            rmse = mode(split, kernel=name, variance=variance, mean=mean, max_iterations=max_iterations)
        else:
            rmse = constant(split) if name == "constant" else biases_only(split)
        row = {"split": split.name, "seed": split.seed, "model": name, "variance": variance, "mean": mean, "rmse": rmse}
        rows.append({**row, "seconds": time.perf_counter() - clock})
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(path, index=False)
    return pd.DataFrame(rows, columns=["split", "seed", "model", "variance", "mean", "rmse", "seconds"])


def paper_table(found: pd.DataFrame, splits: list[Split]) -> Table:
    """Return the table: a row for each kernel, variance and mean, a column for each share held out."""
    here = found[
        [pair in {(s.name, s.seed) for s in splits} for pair in zip(found["split"], found["seed"], strict=True)]
    ]
    rows = []
    for name in ("constant", "biases only"):
        rows.append([name, "", "", *_cells(here[here["model"] == name]), "", ""])
    for variance in _VARIANCES:
        for mean, said in _MEANS.items():
            for kernel in _KERNELS:
                own = here[(here["model"] == kernel) & (here["variance"] == variance) & (here["mean"] == mean)]
                rows.append([kernel, f"{variance:g}", said, *_cells(own), *PAPER.get(kernel, ("", ""))])
    seeds = here["seed"].nunique()
    title = f"The paper's model at its mode: RMSE, mean over {seeds} split{'s' * (seeds > 1)} of each kind"
    return make_table(title, ["kernel", "variance", "ratings", "20% held out", "80%", "paper, 20%", "paper, 80%"], rows)


def _cells(own: pd.DataFrame) -> list[str]:
    found = own.groupby("split")["rmse"]
    return [f"{found.get_group(name).mean():.3f}" if name in found.groups else "" for name in ("20%", "80%")]


def figure(found: pd.DataFrame, curve: Split, path: Path) -> None:
    """Draw RMSE over the variance for each kernel, of centred ratings."""
    drawn, ax = plt.subplots(figsize=(4.6, 3.0), layout="constrained")
    here = found[(found["split"] == curve.name) & (found["seed"] == curve.seed) & (found["mean"] == "learned")]
    for kernel in _DRAWN:
        own = here[here["model"] == kernel].sort_values("variance")
        ax.plot(own["variance"], own["rmse"], "o-", markersize=3, label=kernel)
    ax.axhline(constant(curve), color="0.6", linestyle=":", label="constant")
    ax.axhline(biases_only(curve), color="0.3", linestyle="--", label="biases only")
    ax.set(xscale="log", xlabel="variance", ylabel="RMSE", title=f"{curve.name} held out, seed {curve.seed}")
    ax.legend(fontsize=7)
    drawn.savefig(path, dpi=110)
    plt.close(drawn)
