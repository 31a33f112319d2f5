"""KPMF: the recommender's face of kernelised probabilistic matrix factorisation."""

from __future__ import annotations

import inspect
import json
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from hypergauss import _checks
from hypergauss.factorisation.answers import RandomState
from hypergauss.factorisation.chains import check_schedule, sample
from hypergauss.factorisation.checkpoints import Checkpoint, fingerprint
from hypergauss.factorisation.convergence import worst_rhat
from hypergauss.factorisation.fitting import fixed_kernels, gibbs_problem, mode_problem, number_of_factors, progress
from hypergauss.factorisation.grounds import make_grounds
from hypergauss.factorisation.growth import Growth
from hypergauss.factorisation.implicit import check_given, with_unobserved
from hypergauss.factorisation.mode import Mode, find_mode
from hypergauss.factorisation.moods import Days
from hypergauss.factorisation.predictive import Kept
from hypergauss.factorisation.ratings import Ratings, check_order, tabulate
from hypergauss.factorisation.settings import check_bounds, check_settings
from hypergauss.factorisation.sides import check_priors, check_relations, check_told
from hypergauss.hypergraph import Hypergraph
from hypergauss.hypergraph.names import as_list
from hypergauss.learning.priors import LogNormal

#: What decides the draws, besides the ratings, the relations and the seed.
_SETTINGS = (
    "n_factors",
    "likelihood",
    "noise",
    "unobserved",
    "kernel",
    "biases",
    "rank",
    "size_exponent",
    "priors",
    "tolerance",
    "precision",
)
Relations = Mapping[str, Hypergraph]


class KPMF(Growth, BaseEstimator):
    r"""Ratings explained by latent factors whose priors are Gaussian processes on one hypergraph and its dual.

    A rating of item j by user i is

        r_ij = mu + b_i + c_j + u_i . w_j + noise,

    and the columns of users' (b, u) and items' (c, w) are functions on the vertices of a hypergraph and of its dual:
    users are vertices, and those who rated the same item are a hyperedge. Only the ratings given to `fit` make the
    hypergraph.

    ``inference="gibbs"`` draws from the posterior of everything: filters and variances too, which the factors
    of a side share.
    ``inference="map"`` is the paper's model: fixed kernels, and the factors of the highest posterior density.

    Parameters
    ----------
    n_factors : int or "auto"
        D, the length of u_i and w_j. "auto" takes 1 + n / (9 sqrt(N M)), rounded and at most 10, where N users and M
        items have n ratings: fewer ratings tell fewer factors from noise. For "map" it is 10.
    inference : {"gibbs", "map"}
        See above.
    likelihood : {"gaussian", "ordinal", "implicit"}
        Noise, or an ordered probit whose thresholds are drawn too ("gibbs" only). "implicit" explains what was watched
        at all, without ratings: predictions are probabilities.
    noise : {"individual", "common"}
        Whether users and items have variances of noise of their own, around a common one, or all the same ("gibbs").
    kernel : {"matern", "diffusion", "independent"}
        "diffusion" is exp(-0.01 L) with the Laplacian L = D - W of the weighted clique expansion ("map" only).
        "independent" ignores the hypergraph.
    biases : bool
        Whether there are b and c.
    mean : {"learned", "zero"}
        mu. The paper has none: "zero" ("map" only).
    bounds : (float, float), "observed" or None
        Least and largest rating. Ratings outside are refused and predictions are kept inside; "observed" takes the
        extremes of the ratings given to `fit`, which keeps predictions inside them.
    unobserved : float
        Pairs that were not watched, for each that was, of a sample that the model looks at ("implicit").
    user_relations, item_relations : dict of name to Hypergraph, optional
        What else is known: hypergraphs on users, or items, by name. Each hyperedge has an effect on every column, and
        each relation a weight that is learned ("gibbs" only). Vertices without ratings become known users or items.
    rank : int, "auto" or None
        Keep so many eigenvectors of the hypergraph, and let the others share the middle of the filter's range; all if
        None. "auto" keeps 100 of them for "gibbs", or all if there are fewer, and all for "map".
    size_exponent : float
        a: hyperedges of size s weigh s^a.
    priors : dict of name to LogNormal, optional
        Of "nu" and "lengthscale" ("gibbs").
    nu, lengthscale, variance, noise_variance : float
        Of the fixed kernels and the noise ("map").
    inducing : (int, int), optional
        Numbers of inducing users and items, selected as in section 3.1 of the paper ("map").
    max_iterations : int
        Steps of alternation at most ("map").
    chains, warm_up, thin : int
        Chains, sweeps of each thrown away at first, and sweeps for each draw ("gibbs").
    draws : int or "auto"
        Draws kept of each chain. "auto" draws until the chains agree: until R-hat of predictions, noise (or
        thresholds), identified biases and the factors' variance, looked at after every 25 draws, is at most 1.05
        ("gibbs").
    max_draws : int
        At most so many draws of each chain with ``draws="auto"``; if chains disagree then, a warning says so.
    tolerance : float
        Of conjugate gradients: the size of the residual, relative to that of the right-hand side. The mode is found
        with 1e-4 at least.
    precision : {"single", "double"}
        Of the numbers in the solver ("gibbs"); the mode is found in double precision.
    checkpoint : path, optional
        An npz file that `fit` writes now and then. If it exists, `fit` goes on from there, to the same draws as if it
        had never stopped; ``draws`` may have grown ("gibbs").
    checkpoint_every : int
        Sweeps between writing.
    n_jobs : int
        Chains that run at once, each in a thread ("gibbs").
    show_progress : bool
        Whether to draw a bar.
    random_state : int, RandomState or None
        For everything drawn.

    Attributes
    ----------
    users_, items_ : Index
        Names of those that `fit` knows.
    draws_ : list of Kept
        What each chain kept ("gibbs").
    mode_ : Mode
        Factors and the trace of the log posterior ("map").
    ratings_ : Ratings
        What was learned from, in order.
    bounds_ : (float, float) or None
        Least and largest rating.
    scale_ : Scale
        Ratings are its ``center`` plus ``spread`` times what the model explains.
    levels_ : array, shape (C,), or None
        Ratings of the ordered classes.
    cells_ : Ratings or None
        With likelihood="implicit", what was watched as 1 and the sample of what was not as 0.
    days_ : Days or None
        Users and days that `fit` knows, if it was told of days.
    grounds_ : two Ground
        Where users and items stand in the hypergraph, and newcomers would ("gibbs").

    Notes
    -----
    A parameter that would not act, as ``nu`` under "gibbs" or ``draws`` under "map", is refused.

    A pair rated twice is refused. Draws take 4 bytes x chains x draws x (users + items) x (D + 1) of memory, ratings
    some hundred bytes each.

    Examples
    --------
    >>> users = ["ann", "ann", "bob", "bob", "cem", "cem"]
    >>> items = ["x", "y", "x", "z", "y", "z"]
    >>> model = KPMF(2, draws=20, random_state=0).fit(users, items, [5, 4, 4, 1, 5, 2])
    >>> model.predict(["ann"], ["z"]).shape
    (1,)
    >>> model.recommend("ann", 1)["item"].tolist()
    ['z']
    """

    def __init__(
        self,
        n_factors: int | str = "auto",
        *,
        inference: str = "gibbs",
        likelihood: str = "gaussian",
        noise: str = "individual",
        kernel: str = "matern",
        biases: bool = True,
        mean: str = "learned",
        bounds: tuple[float, float] | str | None = "observed",
        unobserved: float = 3.0,
        user_relations: Relations | None = None,
        item_relations: Relations | None = None,
        rank: int | str | None = "auto",
        size_exponent: float = 0.0,
        priors: Mapping[str, LogNormal] | None = None,
        nu: float = 1.5,
        lengthscale: float = 5.0,
        variance: float = 1.0,
        noise_variance: float = 1.0,
        inducing: tuple[int, int] | None = None,
        max_iterations: int = 100,
        chains: int = 4,
        warm_up: int = 15,
        draws: int | str = "auto",
        max_draws: int = 200,
        thin: int = 1,
        tolerance: float = 3e-3,
        precision: str = "single",
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 25,
        n_jobs: int = 1,
        show_progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_factors = n_factors
        self.inference = inference
        self.likelihood = likelihood
        self.noise = noise
        self.kernel = kernel
        self.biases = biases
        self.mean = mean
        self.bounds = bounds
        self.unobserved = unobserved
        self.user_relations = user_relations
        self.item_relations = item_relations
        self.rank = rank
        self.size_exponent = size_exponent
        self.priors = priors
        self.nu = nu
        self.lengthscale = lengthscale
        self.variance = variance
        self.noise_variance = noise_variance
        self.inducing = inducing
        self.max_iterations = max_iterations
        self.chains = chains
        self.warm_up = warm_up
        self.draws = draws
        self.max_draws = max_draws
        self.thin = thin
        self.tolerance = tolerance
        self.precision = precision
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.random_state = random_state

    def fit(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        ratings: ArrayLike | None = None,
        *,
        days: Iterable[Hashable] | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        users, items : array-like of names, shape (n,)
            Who rated, or watched, what.
        ratings : array-like, shape (n,)
            How; left out for likelihood="implicit".
        days : array-like of names, shape (n,), optional
            When: the name of a day, or of a sitting. All that a user rates on one day is then higher or lower by one
            number, their mood, whose variance is learned ("gibbs"; not with likelihood="implicit").
        """
        usual = {name: given.default for name, given in inspect.signature(KPMF).parameters.items()}
        check_settings(self.get_params(deep=False), usual)
        named = [check_relations("user_relations", self.user_relations)]
        named.append(check_relations("item_relations", self.item_relations))
        more = [[hypergraph.vertices for hypergraph in relations.values()] for relations in named]
        given = check_bounds(self.bounds)
        check_order(users, items, ratings, days)
        names = as_list(users), as_list(items)
        for argument, relations, own in zip(("user_relations", "item_relations"), named, names, strict=True):
            check_told(argument, relations, own)
        values = check_given(ratings, self.likelihood, len(names[0]))
        table = tabulate(*names, values, bounds=given, more_users=more[0], more_items=more[1])
        told = None if days is None else self._days(table, names, days)
        observed = (float(table.values.min()), float(table.values.max()))
        rng = check_random_state(self.random_state)
        if self.inference == "gibbs":
            self._fit_gibbs(table, (named[0], named[1]), told, rng)
        else:
            self._fit_map(table, rng)
        self.users_, self.items_ = table.users, table.items
        self.bounds_ = observed if self.bounds == "observed" else given
        if self.likelihood == "implicit":
            self.bounds_ = (0.0, 1.0)
        self.ratings_, self.days_ = table, told
        return self

    def _fit_gibbs(
        self,
        table: Ratings,
        relations: tuple[Relations, Relations],
        days: Days | None,
        rng: np.random.RandomState,
    ) -> None:
        schedule = check_schedule(self.chains, self.warm_up, self.draws, self.thin, self.max_draws)
        cells, rate = table, 1.0
        if self.likelihood == "implicit":
            cells, rate = with_unobserved(table, self.unobserved, np.random.default_rng(rng.randint(2**31)))
        problem, scale = gibbs_problem(
            table,
            relations,
            n_factors=number_of_factors(self.n_factors, table, self.inference),
            likelihood=self.likelihood,
            noise=self.noise,
            kernel=self.kernel,
            biases=self.biases,
            rank=self.rank,
            size_exponent=self.size_exponent,
            priors=check_priors(self.priors),
            tolerance=self.tolerance,
            precision=self.precision,
            cells=cells,
            days=days,
        )
        entropy = rng.randint(2**32, size=4, dtype=np.uint64).tolist()
        checkpoint = self._checkpoint(cells, relations, days, entropy)
        with progress(self.show_progress, "sweeps") as report:
            self.draws_: list[Kept] = sample(
                problem,
                schedule,
                np.random.SeedSequence(entropy),
                n_jobs=self.n_jobs,
                checkpoint=checkpoint,
                report=report,
                disagreement=lambda kept: worst_rhat(kept, cells, self.likelihood),
            )
        self.scale_, self.levels_ = scale._replace(rate=rate), None if problem.grades is None else problem.grades.levels
        self.cells_ = cells if self.likelihood == "implicit" else None
        self.grounds_ = make_grounds(table, problem.sides, relations, float(self.size_exponent))

    def _fit_map(self, table: Ratings, rng: np.random.RandomState) -> None:
        kernels = fixed_kernels(
            table.hypergraph(),
            kernel=self.kernel,
            rank=self.rank,
            size_exponent=self.size_exponent,
            nu=self.nu,
            lengthscale=self.lengthscale,
            variance=self.variance,
        )
        seeds = rng.randint(2**31, size=3)
        problem, scale = mode_problem(
            table,
            kernels,
            seeds[:2],
            n_factors=number_of_factors(self.n_factors, table, self.inference),
            biases=self.biases,
            mean=self.mean,
            inducing=self.inducing,
            noise_variance=self.noise_variance,
            tolerance=self.tolerance,
        )
        with progress(self.show_progress, "steps") as report:
            self.mode_: Mode = find_mode(
                problem,
                np.random.default_rng(int(seeds[2])),
                max_iterations=_checks.count("max_iterations", self.max_iterations),
                enough=1e-5,
                report=report,
            )
        self.scale_, self.levels_ = scale, None

    def _days(
        self, table: Ratings, names: tuple[Iterable[Hashable], Iterable[Hashable]], days: Iterable[Hashable]
    ) -> Days:
        """Return the days of ratings, where a mood of the day is part of the model."""
        if self.inference != "gibbs" or self.likelihood == "implicit" or not self.biases:
            raise ValueError(
                "`days` must be left out unless inference='gibbs', likelihood='gaussian' or 'ordinal', and biases=True."
                f" Got inference={self.inference!r}, likelihood={self.likelihood!r} and biases={self.biases}."
            )
        return Days.of(table, *names, days)

    def _checkpoint(
        self, table: Ratings, relations: tuple[Relations, Relations], days: Days | None, entropy: list[int]
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if self.random_state is None:
            raise ValueError(
                "`checkpoint` needs a `random_state`, or the run could not be told from another. Pass a number."
            )
        settings = json.dumps([{name: repr(getattr(self, name)) for name in _SETTINGS}, entropy])
        every = _checks.count("checkpoint_every", self.checkpoint_every)
        return Checkpoint(Path(self.checkpoint), every, fingerprint(table, relations, days, settings))
