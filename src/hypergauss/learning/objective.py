"""What hyperparameters are learned by: a function of a model, exact to the last digit or estimated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic

import numpy as np

from hypergauss.learning.priors import Matched
from hypergauss.learning.trust_region import LocalModel
from hypergauss.parameters import Model

#: The gain that ends a search on an objective without an opinion of its own.
_TOLERANCE = 1e-9
#: The gain that is not worth another evaluation of an estimate: in nats, and as a share of its standard error.
_LEAST_GAIN, _LEAST_SHARE = 1e-5, 0.05


class Objective(ABC, Generic[Model]):
    """A function of a model's hyperparameters to be maximised: the log evidence, or a bound on it."""

    @property
    @abstractmethod
    def num_observations(self) -> int:
        """How many numbers were observed, the natural size of the objective."""

    @property
    def least_gain(self) -> float:
        """The gain of an iteration, for each number observed, below which a search ends."""
        return _TOLERANCE

    @property
    def state(self) -> Any:
        """What the best evaluation so far leaves behind for a later one to start from; nothing, as a rule."""
        return None

    def widths(self, model: Model) -> np.ndarray | float:  # noqa: ARG002
        """Return how far each coordinate may have to go: those that little is known of need longer steps."""
        return 1.0

    @abstractmethod
    def value_and_gradient(self, model: Model) -> tuple[float, np.ndarray]:
        """Return the objective at a model, and its gradient in the model's coordinates, shape (p,)."""

    def compared(self, model: Model, rival: float) -> tuple[float, np.ndarray]:  # noqa: ARG002
        """Return the same, as exactly as it takes to tell the value from a rival's: all digits, as a rule."""
        return self.value_and_gradient(model)

    def value(self, model: Model) -> float:
        """Return the objective alone; one that is cheaper without its gradient says how."""
        return self.value_and_gradient(model)[0]


class EstimatedObjective(Objective[Model]):
    """An objective whose values and gradients are estimates, and only nearly derivatives of one another."""

    @property
    def least_gain(self) -> float:
        """The gain still in sight, for each number observed, at which a search ends.

        A twentieth of the objective's standard error; where nothing is random 1e-5 nats, at which hyperparameters are
        0.005 of their own standard deviation from the top.
        """
        return max(_LEAST_GAIN, _LEAST_SHARE * np.nan_to_num(self.standard_error)) / self.num_observations

    @property
    @abstractmethod
    def standard_error(self) -> float:
        """The standard error of the latest value, or NaN."""

    @abstractmethod
    def local_model(self, model: Model) -> LocalModel:
        """Return the objective at a model, and what it will gain at coordinates around it."""

    def further_starts(self, model: Model, priors: Matched) -> list[np.ndarray]:  # noqa: ARG002
        """Return other coordinates that may be worth a start, found without an evaluation; none, as a rule."""
        return []

    def value_and_gradient(self, model: Model) -> tuple[float, np.ndarray]:  # noqa: D102
        return self.local_model(model)[:2]
