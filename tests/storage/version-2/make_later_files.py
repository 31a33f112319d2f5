"""Make the model files of layout 2 in this folder, and what they predict.

Run with a version before kernels were standardised (commit 2431f48), in a checkout of it.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import hypergauss as hg
from hypergauss.inference import LogNormal
from hypergauss.kernels import Matern

FOLDER = Path(__file__).parent
EDGES = {
    "x": ["a", "b", "c", "d"],
    "y": ["c", "d", "e"],
    "z": ["e", "f", "g", "h"],
    "w": ["h", "i", "j"],
    "v": ["j", "k", "l", "a"],
}
H = hg.Hypergraph.from_edges(EDGES, weights=[1.0, 2.0, 1.0, 0.5, 1.0])
NAMES = list(H.vertices)
SEEN = NAMES[:8]
Y = [0.1, 0.4, 0.3, 0.5, 1.4, 2.2, 2.0, 1.6]
LABELS = ["red", "red", "blue", "blue", "red", "green", "green", "blue"]
TABLE = pd.DataFrame({"age": np.arange(12.0), "size": np.arange(12.0) % 3}, index=NAMES)
PAIRS = H.clique_expansion(weighted=True)


def regressors():
    prior = {"noise_variance": LogNormal(0.1)}
    yield "exact", hg.HypergraphGPRegressor(H, random_state=0, priors=prior)
    plain = {"size_exponent": 0.0, "random_state": 0, "priors": prior}
    yield "relations", hg.HypergraphGPRegressor({"all": H, "pairs": PAIRS}, covariates=TABLE, **plain)


def classifiers():
    yield "robust-max", hg.HypergraphGPClassifier(H, random_state=0)
    softmax = Matern(hg.Spectrum.of(H), variance=0.5)
    yield "softmax", hg.HypergraphGPClassifier(H, softmax, likelihood="softmax", learn=False)
    yield "probit", hg.HypergraphGPClassifier(H, likelihood="probit", inference="laplace", size_exponent=0.0)


def main():
    expected = {}
    for name, model in regressors():
        model.fit(SEEN, Y)
        mean, std = model.predict(NAMES, return_std=True)
        expected[name] = {
            "mean": mean.tolist(),
            "std": std.tolist(),
            "evidence": float(model.log_marginal_likelihood_),
            "hyperparameters": {key: np.asarray(value).tolist() for key, value in model.hyperparameters_.items()},
        }
        hg.save(model, FOLDER / f"{name}.hypergauss")
    for name, model in classifiers():
        two = name == "probit"
        model.fit(SEEN, ["red" if label == "red" else "other" for label in LABELS] if two else LABELS)
        expected[name] = {
            "classes": model.classes_.tolist(),
            "proba": model.predict_proba(NAMES).tolist(),
            "elbo": float(model.elbo_),
            "hyperparameters": {key: np.asarray(value).tolist() for key, value in model.hyperparameters_.items()},
        }
        hg.save(model, FOLDER / f"{name}.hypergauss")
    (FOLDER / "predictions.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
