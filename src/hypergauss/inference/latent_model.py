"""LatentModel: latent functions with one kernel, seen through a likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from hypergauss.kernels import Kernel
from hypergauss.likelihoods import Likelihood
from hypergauss.parameters import Parametrised, bounded


class LatentModel(Parametrised):
    """L latent functions with one kernel and a constant mean each, seen through a likelihood."""

    mean: np.ndarray = bounded(-1e2, 1e2)

    def __init__(self, kernel: Kernel, likelihood: Likelihood, mean: Any, fixed: tuple[str, ...] = ()) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.mean = mean
        self.fixed = self.check_fixed(fixed)
