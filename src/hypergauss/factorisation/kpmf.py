"""KPMF: the recommender's face of kernelised probabilistic matrix factorisation."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import Progress
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss.exceptions import UnseenWarning
from hypergauss.factorisation import gibbs
from hypergauss.factorisation.draws import Kept, Predictive, Scale
from hypergauss.factorisation.inducing import full_columns, sparse_columns
from hypergauss.factorisation.mode import Mode, ModeProblem, find_mode
from hypergauss.factorisation.ordinal import Grades
from hypergauss.factorisation.ratings import Ratings, tabulate, views
from hypergauss.factorisation.sampling import Checkpoint, check_schedule, sample
from hypergauss.factorisation.sides import check_priors, check_relations, make_sides
from hypergauss.hypergraph import Hypergraph
from hypergauss.inducing import select_inducing_vertices
from hypergauss.inference.priors import LogNormal
from hypergauss.kernels import Diffusion, Matern, SpectralKernel
from hypergauss.names import as_list
from hypergauss.spectrum import Spectrum

INFERENCES = ("gibbs", "map")
KERNELS = ("matern", "diffusion", "independent")
LIKELIHOODS = ("gaussian", "ordinal")
PRECISIONS = {"single": np.float32, "double": np.float64}
#: Bandwidth of the paper's diffusion kernel.
_BETA = 0.01
#: Eigenvectors kept unless told: on MovieLens, more change neither the error nor the density.
_AUTO_RANK = 100
#: Pairs whose predictions stand for all where convergence is checked.
_WATCHED = 50


class KPMF(BaseEstimator):
    r"""Ratings explained by latent factors whose priors are Gaussian processes on one hypergraph and its dual.

    A rating of item j by user i is

        r_ij = mu + b_i + c_j + u_i . w_j + noise,

    and the columns of users' (b, u) and items' (c, w) are functions on the vertices of a hypergraph and of its dual:
    users are vertices, and those who rated the same item are a hyperedge. Only the ratings given to `fit` make the
    hypergraph.

    ``inference="gibbs"`` draws from the posterior of everything, each column with its own Matern filter and variance.
    ``inference="map"`` is the paper's model: fixed kernels, and the factors of the highest posterior density.

    Parameters
    ----------
    n_factors : int
        D, the length of u_i and w_j.
    inference : {"gibbs", "map"}
        See above.
    likelihood : {"gaussian", "ordinal"}
        Noise, or an ordered probit whose thresholds are drawn too ("gibbs" only).
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
    chains, warm_up, draws, thin : int
        Chains, sweeps of each thrown away at first, draws kept of each, and sweeps for each draw ("gibbs"). Chains
        start from functions that are smooth on the hypergraph: where ratings follow it little, they may need some
        hundred sweeps to leave them, and `inference_data` shows it.
    tolerance : float
        Of conjugate gradients: the size of the residual, relative to that of the right-hand side.
    precision : {"single", "double"}
        Of the numbers in the solver.
    checkpoint : path, optional
        An npz file that `fit` writes now and then. If it exists, `fit` goes on from there, to the same draws as if it
        had never stopped; ``draws`` may have grown ("gibbs").
    checkpoint_every : int
        Sweeps between writing.
    n_jobs : int
        Chains that run at once, each in a thread.
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

    Notes
    -----
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
        n_factors: int = 10,
        *,
        inference: str = "gibbs",
        likelihood: str = "gaussian",
        kernel: str = "matern",
        biases: bool = True,
        mean: str = "learned",
        bounds: Any = "observed",
        user_relations: Mapping[str, Hypergraph] | None = None,
        item_relations: Mapping[str, Hypergraph] | None = None,
        rank: int | str | None = "auto",
        size_exponent: float = 0.0,
        priors: Mapping[str, LogNormal] | None = None,
        nu: float = 1.5,
        lengthscale: float = 5.0,
        variance: float = 1.0,
        noise_variance: float = 1.0,
        inducing: tuple[int, int] | None = None,
        max_iterations: int = 100,
        chains: int = 2,
        warm_up: int = 40,
        draws: int = 60,
        thin: int = 1,
        tolerance: float = 3e-3,
        precision: str = "single",
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 25,
        n_jobs: int = 1,
        show_progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.inference = inference
        self.likelihood = likelihood
        self.kernel = kernel
        self.biases = biases
        self.mean = mean
        self.bounds = bounds
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
        self.thin = thin
        self.tolerance = tolerance
        self.precision = precision
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.random_state = random_state

    def fit(self, users: Iterable[Any], items: Iterable[Any], ratings: Any) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        users, items : array-like of names, shape (n,)
            Who rated what.
        ratings : array-like, shape (n,)
            How.
        """
        self._check()
        named = [check_relations("user_relations", self.user_relations)]
        named.append(check_relations("item_relations", self.item_relations))
        more = [[hypergraph.vertices for hypergraph in relations.values()] for relations in named]
        given = _check_bounds(self.bounds)
        table = tabulate(users, items, ratings, bounds=given, more_users=more[0], more_items=more[1])
        observed = (float(table.values.min()), float(table.values.max()))
        rng = check_random_state(self.random_state)
        if self.inference == "gibbs":
            self._fit_gibbs(table, (named[0], named[1]), rng)
        else:
            self._fit_map(table, rng)
        self.users_, self.items_ = table.users, table.items
        self.bounds_ = observed if self.bounds == "observed" else given
        self._ratings = table
        return self

    def predict(self, users: Iterable[Any], items: Iterable[Any], return_std: bool = False) -> Any:
        """Return the mean rating of each pair and, if asked for, the standard deviation of a new rating.

        Users and items that `fit` has not seen have their prior, and a warning says so.
        """
        user, item = self._located(users, items)
        mean, std = self._predictive().moments(user, item)
        if self.bounds_ is not None:
            mean = np.clip(mean, *self.bounds_)
        return (mean, std) if return_std else mean

    def predict_interval(
        self, users: Iterable[Any], items: Iterable[Any], level: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of central intervals that hold a new rating with the given probability, within bounds.

        They are those of a normal distribution of the predictive mean and variance; for the ordered probit, the least
        and largest level whose cumulative probability passes (1 - level) / 2 and (1 + level) / 2.
        """
        if not 0 < _checks.real("level", level) < 1:
            raise ValueError(f"`level` must lie between 0 and 1. Got {level}.")
        user, item = self._located(users, items)
        predictive = self._predictive()
        if predictive.levels is not None:
            cumulative = predictive.probabilities(user, item).cumsum(axis=1)
            ends = [(cumulative < share - 1e-12).sum(axis=1) for share in ((1 - level) / 2, (1 + level) / 2)]
            low, high = (predictive.levels[np.minimum(end, len(predictive.levels) - 1)] for end in ends)
            return low, high
        mean, std = predictive.moments(user, item)
        reach = norm.ppf(0.5 + level / 2) * std
        limits = self.bounds_ if self.bounds_ is not None else (-np.inf, np.inf)
        return np.clip(mean - reach, *limits), np.clip(mean + reach, *limits)

    def predict_proba(self, users: Iterable[Any], items: Iterable[Any]) -> pd.DataFrame:
        """Return the probability of each rating level, one row a pair ("ordinal" only)."""
        predictive = self._predictive()
        if predictive.levels is None:
            raise ValueError("`predict_proba` needs ratings as ordered classes. Fit with likelihood='ordinal'.")
        return pd.DataFrame(predictive.probabilities(*self._located(users, items)), columns=predictive.levels)

    def log_density(self, users: Iterable[Any], items: Iterable[Any], ratings: Any) -> np.ndarray:
        """Return the log predictive density of each rating; the log probability for ordered classes."""
        values = _checks.finite_array("ratings", ratings, missing="Leave those pairs out.")
        user, item = self._located(users, items)
        _checks.same_length("users", len(user), "ratings", len(values))
        predictive = self._predictive()
        if predictive.levels is not None and not np.isin(values, predictive.levels).all():
            raise ValueError(f"`ratings` must be among the levels seen in `fit`, {predictive.levels.tolist()}.")
        return predictive.log_density(user, item, values)

    def sample(self, users: Iterable[Any], items: Iterable[Any], size: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw new ratings from the predictive distribution, shape (size, n)."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return self._predictive().sample(*self._located(users, items), _checks.count("size", size), rng)

    def recommend(self, user: Any, n: int = 10, *, include_seen: bool = False) -> pd.DataFrame:
        """Return the n items of the highest predicted rating for a user, with the standard deviation of a new rating.

        Items that the user has rated are left out unless asked for.
        """
        check_is_fitted(self, "users_")
        _checks.count("n", n)
        row = self._located([user], self.items_[:1])[0][0]
        seen = self._ratings.item[self._ratings.user == row]
        rows = np.arange(len(self.items_)) if include_seen else np.setdiff1d(np.arange(len(self.items_)), seen)
        mean, std = self._predictive().moments(np.full(len(rows), row), rows)
        if self.bounds_ is not None:
            mean = np.clip(mean, *self.bounds_)
        best = np.argsort(-mean, kind="stable")[:n]
        return pd.DataFrame({"item": self.items_[rows[best]], "rating": mean[best], "std": std[best]})

    def inference_data(self) -> Any:
        """Return what is identified of the draws as ArviZ's ``InferenceData``, for R-hat and effective sample sizes.

        Factors can turn and change sign without changing a prediction, so predictions stand for them: those of fifty
        rated pairs, the noise and the thresholds.
        """
        arviz = _checks.optional("arviz", "mcmc")
        kept = self._kept()
        table = self._ratings
        watched = np.linspace(0, len(table.values) - 1, min(_WATCHED, len(table.values))).astype(int)
        predictions = []
        for chain in kept:
            u, w = chain.users[:, table.user[watched]], chain.items[:, table.item[watched]]
            products = (u[..., 1:] * w[..., 1:]).sum(axis=-1)
            predictions.append(chain.mean[:, None] + u[..., 0] + w[..., 0] + products)
        posterior = {"prediction": np.stack(predictions)}
        if self.likelihood == "gaussian":
            posterior["noise_variance"] = np.stack([chain.noise_variance for chain in kept])
        else:
            posterior["thresholds"] = np.stack([chain.thresholds for chain in kept])
        return arviz.from_dict(posterior=posterior, dims={"prediction": ["pair"], "thresholds": ["threshold"]})

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

    def _check(self) -> None:
        """Check parameters before any work."""
        _checks.count("n_factors", self.n_factors)
        _checks.one_of("inference", self.inference, INFERENCES)
        _checks.one_of("likelihood", self.likelihood, LIKELIHOODS)
        _checks.one_of("kernel", self.kernel, KERNELS)
        _checks.one_of("mean", self.mean, ("learned", "zero"))
        _checks.one_of("precision", self.precision, tuple(PRECISIONS))
        _checks.positive("tolerance", self.tolerance)
        _checks.count("n_jobs", self.n_jobs)
        if isinstance(self.rank, str):
            _checks.one_of("rank", self.rank, ("auto",))
        gibbs_only = {"likelihood": "gaussian", "user_relations": None, "item_relations": None, "checkpoint": None}
        map_only = {"mean": "learned", "inducing": None}
        others = gibbs_only if self.inference == "map" else map_only
        for name, usual in others.items():
            if getattr(self, name) not in (usual, {}):
                only = "gibbs" if self.inference == "map" else "map"
                raise ValueError(
                    f"`{name}` must be left as it is unless inference={only!r}. Got {getattr(self, name)!r}."
                )
        if self.inference == "gibbs" and self.kernel == "diffusion":
            raise ValueError(
                "`kernel='diffusion'` needs inference='map'; 'matern' draws nu, to which infinity belongs."
            )
        if self.kernel == "independent" and self.inducing is not None:
            raise ValueError("`inducing` needs a kernel on the hypergraph. Got kernel='independent'.")

    def _fit_gibbs(
        self,
        table: Ratings,
        relations: tuple[Mapping[str, Hypergraph], Mapping[str, Hypergraph]],
        rng: np.random.RandomState,
    ) -> None:
        dtype = PRECISIONS[self.precision]
        schedule = check_schedule(self.chains, self.warm_up, self.draws, self.thin)
        grades = _grades(table, np.dtype(dtype)) if self.likelihood == "ordinal" else None
        sides = make_sides(
            table,
            kernel=self.kernel,
            rank=self._rank(_AUTO_RANK if min(table.shape) > _AUTO_RANK else None),
            size_exponent=_checks.real("size_exponent", self.size_exponent),
            priors=check_priors(self.priors),
            relations=relations,
            dtype=dtype,
        )
        scale = _scale(table.values)
        values = ((table.values - scale.center) / scale.spread).astype(dtype)
        problem = gibbs.Problem(sides, views(table, dtype), values, grades, self.n_factors, self.biases, self.tolerance)
        seed = np.random.SeedSequence(rng.randint(2**32, size=4, dtype=np.uint64).tolist())
        with _progress(self.show_progress, "sweeps") as report:
            kept = sample(
                problem,
                schedule,
                seed,
                n_jobs=self.n_jobs,
                checkpoint=self._checkpoint(table, seed),
                report=report,
            )
        self.draws_ = kept
        self._scale, self._levels = scale, None if grades is None else grades.levels

    def _fit_map(self, table: Ratings, rng: np.random.RandomState) -> None:
        dtype = np.float64
        columns_count = self.n_factors + int(self.biases)
        kernels = self._kernels(table.hypergraph())
        seeds = rng.randint(2**31, size=3)
        columns = []
        for number, (kernel, hypergraph) in enumerate(kernels):
            if self.inducing is None:
                columns.append(full_columns(kernel, columns_count, dtype))
                continue
            names = select_inducing_vertices(hypergraph, self.inducing[number], random_state=int(seeds[number]))
            rows = hypergraph.vertex_rows(names)
            columns.append(sparse_columns(kernel, rows, columns_count, dtype))
        center = float(table.values.mean()) if self.mean == "learned" else 0.0
        problem = ModeProblem(
            (columns[0], columns[1]),
            views(table, dtype),
            table.values - center,
            self.n_factors,
            self.biases,
            1.0 / _checks.positive("noise_variance", self.noise_variance),
            min(self.tolerance, 1e-4),
        )
        with _progress(self.show_progress, "steps") as report:
            self.mode_: Mode = find_mode(
                problem,
                np.random.default_rng(int(seeds[2])),
                max_iterations=_checks.count("max_iterations", self.max_iterations),
                enough=1e-5,
                report=report,
            )
        self._mode_problem = problem
        self._scale, self._levels = Scale(center, 1.0), None

    def _kernels(self, hypergraph: Hypergraph) -> list[tuple[SpectralKernel, Hypergraph]]:
        """Return the fixed kernels of users and of items, with the hypergraphs to select inducing vertices on."""
        pairs = [hypergraph, hypergraph.dual()]
        if self.kernel == "diffusion":
            spectra = [Spectrum.of(H.clique_expansion(), self._rank(), laplacian="unnormalised") for H in pairs]
            return [
                (Diffusion(spectrum, _BETA, variance=self.variance), H)
                for spectrum, H in zip(spectra, pairs, strict=True)
            ]
        spectrum = Spectrum.of(hypergraph, self._rank(), self.size_exponent)
        if self.kernel == "independent":
            return [
                (Diffusion(part, 1e-12, variance=self.variance), H)
                for part, H in zip((spectrum, spectrum.dual()), pairs, strict=True)
            ]
        return [
            (Matern(part, self.nu, self.lengthscale, variance=self.variance), H)
            for part, H in zip((spectrum, spectrum.dual()), pairs, strict=True)
        ]

    def _rank(self, most: int | None = None) -> int | None:
        """Return how many eigenvectors to keep, where "auto" means ``most``."""
        return most if isinstance(self.rank, str) else self.rank

    def _checkpoint(self, table: Ratings, seed: np.random.SeedSequence) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if self.random_state is None:
            raise ValueError(
                "`checkpoint` needs a `random_state`, or the run could not be told from another. Pass a number."
            )
        settings = {
            name: repr(getattr(self, name))
            for name in ("n_factors", "likelihood", "kernel", "biases", "rank", "size_exponent", "priors", "tolerance")
        }
        settings |= {name: repr(getattr(self, name)) for name in ("precision", "user_relations", "item_relations")}
        digest = hashlib.sha256(json.dumps([settings, [int(part) for part in seed.entropy]]).encode())  # type: ignore[union-attr]
        for array in (table.user, table.item, table.values):
            digest.update(np.ascontiguousarray(array).tobytes())
        every = _checks.count("checkpoint_every", self.checkpoint_every)
        return Checkpoint(Path(self.checkpoint), every, digest.hexdigest())

    def _kept(self) -> list[Kept]:
        check_is_fitted(self, "users_")
        if self.inference != "gibbs":
            raise ValueError("There are draws only with inference='gibbs'.")
        return self.draws_

    def _predictive(self) -> Predictive:
        check_is_fitted(self, "users_")
        if self.inference == "map":
            return Predictive(self._as_draw(), self._scale, None)
        parts = zip(*self.draws_, strict=True)
        return Predictive(Kept(*(np.concatenate(part) for part in parts)), self._scale, self._levels)

    def _as_draw(self) -> Kept:
        """Return the mode in the form of a single draw; those not seen have the kernels' mean variance."""
        users, items = self.mode_.users, self.mode_.items
        lone = np.full((1, users.shape[1]), float(self.variance))
        lone[0, 0] *= self.biases
        none = np.zeros((1, 0))
        parts = {"mean": np.zeros(1), "noise_variance": np.full(1, float(self.noise_variance)), "thresholds": none}
        shape = np.zeros((1, 2, users.shape[1]))
        return Kept(
            users[None],
            items[None],
            lone,
            lone,
            **parts,
            nu=shape,
            lengthscale=shape,
            variance=shape,
            user_weights=none,
            item_weights=none,
        )

    def _located(self, users: Iterable[Any], items: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of pairs given by name; -1 for those that were not there in `fit`."""
        check_is_fitted(self, "users_")
        rows = []
        for argument, names, index in (("users", users, self.users_), ("items", items, self.items_)):
            values = as_list(names)
            found = index.get_indexer(pd.Index(values, dtype=index.dtype if len(values) == 0 else None))
            unseen = np.flatnonzero(found < 0)
            if len(unseen):
                warnings.warn(
                    f"`{argument}` has {len(unseen):,} names that `fit` did not see, first {values[unseen[0]]!r}: "
                    "their predictions are those of the prior.",
                    UnseenWarning,
                    stacklevel=3,
                )
            rows.append(np.asarray(found))
        _checks.same_length("users", len(rows[0]), "items", len(rows[1]))
        return rows[0], rows[1]


def _scale(values: np.ndarray) -> Scale:
    spread = float(values.std())
    return Scale(float(values.mean()), spread if spread > 0 else 1.0)


def _grades(table: Ratings, dtype: np.dtype) -> Grades:
    levels, label = np.unique(table.values, return_inverse=True)
    if not 2 <= len(levels) <= 100:
        raise ValueError(
            f"`likelihood='ordinal'` needs from 2 to 100 different ratings. Got {len(levels):,}. Use 'gaussian', or "
            "round them."
        )
    return Grades(levels, label, table.user, table.item, dtype)


def _check_bounds(bounds: Any) -> tuple[float, float] | None:
    if bounds is None or (isinstance(bounds, str) and bounds == "observed"):
        return None
    try:
        low, high = (_checks.real("bounds", bound) for bound in bounds)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`bounds` must be two numbers, 'observed' or None. Got {bounds!r}.") from error
    if not low < high:
        raise ValueError(f"`bounds` must increase. Got {low:g} and {high:g}.")
    return low, high


@contextmanager
def _progress(show: bool, what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that moves a bar, or None."""
    if not show:
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
