"""What a fitted factorisation answers: predictions, recommendations, what was learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hypergauss._views import html_table
from hypergauss.factorisation.convergence import identified, summarised
from hypergauss.factorisation.mode import Mode
from hypergauss.factorisation.moods import Days
from hypergauss.factorisation.named_predictions import Prediction, as_draw, together
from hypergauss.factorisation.predictive import Kept, Predictive, Scale
from hypergauss.factorisation.ratings import Ratings
from hypergauss.hypergraph import Hypergraph

if TYPE_CHECKING:
    from arviz import InferenceData

RandomState = int | np.random.RandomState | None


class Answers:
    """Answers of `KPMF` about users and items that it knows."""

    inference: str
    likelihood: str
    biases: bool
    variance: float
    noise_variance: float
    user_relations: Mapping[str, Hypergraph] | None
    item_relations: Mapping[str, Hypergraph] | None
    users_: pd.Index
    items_: pd.Index
    draws_: list[Kept]
    mode_: Mode
    ratings_: Ratings
    cells_: Ratings | None
    bounds_: tuple[float, float] | None
    scale_: Scale
    levels_: np.ndarray | None
    days_: Days | None

    @overload
    def predict(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        return_std: Literal[False] = False,
        *,
        days: Iterable[Hashable] | None = None,
    ) -> np.ndarray: ...
    @overload
    def predict(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        return_std: Literal[True],
        *,
        days: Iterable[Hashable] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def predict(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        return_std: bool = False,
        *,
        days: Iterable[Hashable] | None = None,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the mean rating of each pair and, if asked for, the standard deviation of a new rating.

        Users and items that `fit` has not seen have their prior, and a warning says so. If `fit` was told of ``days``,
        they may be given here too, one for each pair: on a day that it knows of a user, their mood of that day counts;
        on others, or without days, a mood that is not known.
        """
        mean, std = self._prediction(days).moments(users, items)
        return (mean, std) if return_std else mean

    def predict_interval(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        level: float = 0.9,
        *,
        days: Iterable[Hashable] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of central intervals that hold a new rating with the given probability, within bounds.

        They are those of a normal distribution of the predictive mean and variance; for the ordered probit, the least
        and largest level whose cumulative probability passes (1 - level) / 2 and (1 + level) / 2.
        """
        return self._prediction(days).interval(users, items, level)

    def predict_proba(
        self, users: Iterable[Hashable], items: Iterable[Hashable], *, days: Iterable[Hashable] | None = None
    ) -> pd.DataFrame:
        """Return the probability of each rating level, one row a pair ("ordinal" only)."""
        return self._prediction(days).probabilities(users, items)

    def log_density(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        ratings: ArrayLike,
        *,
        days: Iterable[Hashable] | None = None,
    ) -> np.ndarray:
        """Return the log predictive density of each rating; the log probability for ordered classes."""
        return self._prediction(days).log_density(users, items, ratings)

    def sample(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        size: int = 1,
        random_state: RandomState = None,
        *,
        days: Iterable[Hashable] | None = None,
    ) -> np.ndarray:
        """Draw new ratings from the predictive distribution, shape (size, n)."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return self._prediction(days).sample(users, items, size, rng)

    def recommend(self, user: Hashable, n: int = 10, *, include_seen: bool = False) -> pd.DataFrame:
        """Return the n items of the highest predicted rating for a user, with the standard deviation of a new rating.

        Items that the user has rated are left out unless asked for.
        """
        return self._prediction().best(user, n, include_seen=include_seen)

    def inference_data(self) -> InferenceData:
        """Return what is identified of the draws as ArviZ's ``InferenceData``, for R-hat and effective sample sizes.

        Factors can turn and change sign without changing a prediction, so predictions stand for them: those of fifty
        rated pairs, the variances of biases (with what the other side's mean factors add to them), of the centred
        factors' products and of the noise, and the thresholds.
        """
        return identified(self._kept(), self._explained(), self.likelihood)

    def summary(self) -> pd.DataFrame:
        """Return what was learned: mean, 90% interval and R-hat of what the ratings identify, a row each.

        These are the variances of users' and items' biases, of the factors' products and of the noise, or the
        thresholds of grades, on the scale where ratings have variance 1 (or the noise, under the ordered probit).
        """
        return summarised(self._kept(), self._explained(), self.likelihood)

    def plot(self, users: Iterable[Hashable], items: Iterable[Hashable], ratings: ArrayLike, *, ax: Any = None) -> Any:
        """Draw predictions with 90% intervals against ratings, best those held out, and return its Axes."""
        from hypergauss.plotting.tasks import plot_ratings  # with matplotlib, which estimators do without

        return plot_ratings(self, users, items, ratings, ax)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: whose ratings were learned, and what the draws say, once there are any."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if not hasattr(self, "users_"):
            return bundle
        rows = {"users": f"{len(self.users_):,}", "items": f"{len(self.items_):,}"}
        rows |= {"ratings": f"{len(self.ratings_.values):,}", "inference": self.inference}
        html = html_table(f"{type(self).__name__}, fitted", rows)
        if self.inference == "gibbs":
            html += str(self.summary().to_html(float_format="{:.3g}".format))
        return bundle | {"text/html": html}

    def relation_weights(self) -> pd.DataFrame:
        """Return mean and standard deviation of each relation's weight, as a multiple of a column's variance."""
        kept = self._kept()
        rows = []
        for side, relations, field in (
            ("users", self.user_relations, "user_weights"),
            ("items", self.item_relations, "item_weights"),
        ):
            weights = np.concatenate([getattr(chain, field) for chain in kept])
            rows += [
                {"side": side, "relation": name, "weight": weights[:, place].mean(), "std": weights[:, place].std()}
                for place, name in enumerate(relations or {})
            ]
        return pd.DataFrame(rows, columns=["side", "relation", "weight", "std"])

    def _kept(self) -> list[Kept]:
        check_is_fitted(self, "users_")
        if self.inference != "gibbs":
            raise ValueError(
                "This is told of draws of the posterior. Got inference='map', which has its mode alone. Fit with "
                "inference='gibbs'."
            )
        return self.draws_

    def _mode(self) -> list[Kept]:
        """Return the mode in the form of a single draw."""
        mode = as_draw(self.mode_, variance=self.variance, noise_variance=self.noise_variance, biases=self.biases)
        return [mode]

    def _explained(self) -> Ratings:
        """Return the ratings that draws explain, or with likelihood="implicit" events and the sample of others."""
        return self.ratings_ if self.cells_ is None else self.cells_

    def _prediction(self, days: Iterable[Hashable] | None = None) -> Prediction:
        check_is_fitted(self, "users_")
        if days is not None and self.days_ is None:
            raise ValueError("`days` must be left out, since `fit` was not told of any. Fit with `days`.")
        if self.inference == "gibbs":
            predictive = Predictive(together(self.draws_), self.scale_, self.levels_)
        else:
            predictive = Predictive(self._mode()[0], self.scale_, self.levels_)
        when = None if days is None or self.days_ is None else (self.days_, days)
        return Prediction(predictive, self.ratings_, self.bounds_, when)
