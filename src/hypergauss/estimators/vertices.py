"""VertexEstimator: what all estimators on named vertices share."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks, parameters
from hypergauss._checks import Labels, Matrix, Seed
from hypergauss._views import html_table
from hypergauss.estimators.blueprint import Blueprint
from hypergauss.estimators.domain import Domain
from hypergauss.estimators.features import are_many
from hypergauss.estimators.fitting import Fitted
from hypergauss.estimators.grown_relations import NewMemberships, Relations, grown, with_newcomers
from hypergauss.estimators.growth import Growth
from hypergauss.estimators.inducing import InducingChoice, check_inducing
from hypergauss.estimators.settings import VERTEX_RULES, check_flags, refuse_idle
from hypergauss.estimators.silence import warn_of_silence
from hypergauss.estimators.summary import Summary, summarise
from hypergauss.estimators.tasks import How
from hypergauss.estimators.uncertainty import HyperparameterPosterior
from hypergauss.exceptions import LearningWarning
from hypergauss.hypergraph.names import Name, Names, as_list, locate_vertices, plain
from hypergauss.kernels import Kernel, Sum
from hypergauss.learning.priors import LogNormal, check_priors
from hypergauss.learning.search import Learned
from hypergauss.solvers.choose import Choice, check_solver
from hypergauss.solvers.projection import SpectralFeatures
from hypergauss.solvers.work import Work
from hypergauss.spectrum.given import LaplacianMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class VertexEstimator(BaseEstimator):
    """An estimator whose X is an array of vertex names. Fitted, it knows them as ``vertices_``."""

    H: Relations
    kernel: str | Kernel | None
    covariates: Matrix | Kernel | None
    combine: str
    rank: int | None
    laplacian: str | LaplacianMatrix | None
    learn: bool
    integrate: bool
    size_exponent: float | str
    priors: Mapping[str, LogNormal] | None
    solver: Choice
    inducing: InducingChoice | None
    n_starts: int
    max_iterations: int
    random_state: Seed
    verbose: bool
    vertices_: pd.Index
    hyperparameter_posterior_: HyperparameterPosterior | None

    def _blueprint(
        self, work: Work, *, searches: bool = True, needs_eigenvectors: bool = False, relative_level: float = 0.0
    ) -> Blueprint:
        """Check what the kernel is made from, and settle what is to be learned; size exponents only if it searches."""
        check_solver(self.solver)
        check_flags(self, "learn", "integrate", "verbose")
        if self.size_exponent == "learn" and not self.learn:
            raise ValueError("`size_exponent='learn'` learns, and `learn=False` does not. Give a number, or learn.")
        blueprint = Blueprint.of(
            self.H,
            kernel=self.kernel,
            covariates=self.covariates,
            combine=self.combine,
            size_exponent=self._size_exponent_to_use(searches and self.learn),
            rank=self.rank,
            work=work._replace(
                learns=work.learns and self.learn,
                averages=bool(self.integrate),
                from_all=self.inducing is not None or getattr(self, "inference", None) == "mcmc",
            ),
            solver=self.solver,
            needs_eigenvectors=needs_eigenvectors or self.inducing is not None,
            # Leading eigenvectors stand for a filter as it is, not for one that is scaled vertex by vertex.
            standardises=not isinstance(self.inducing, SpectralFeatures),
            relative_level=relative_level,
            laplacian=self.laplacian,
        )
        refuse_idle(self, VERTEX_RULES)  # after each is known to be possible
        blueprint.domain.warn_of_ignored()
        return blueprint

    def _size_exponent_to_use(self, searches: bool) -> float | str:
        """Return "auto" as 0 where none is searched for; a given kernel keeps its own."""
        keep = searches or isinstance(self.kernel, Kernel) or self.size_exponent != "auto"
        return self.size_exponent if keep else 0.0

    def _how(
        self,
        domain: Domain,
        report: Callable[[str], None] | None,
        *,
        learns: bool,
        default_priors: Mapping[str, LogNormal],
    ) -> How:
        """Return the settings that all estimators have, checked; where nothing is learned, in 0 iterations."""
        max_iterations = _checks.count("max_iterations", self.max_iterations)
        seed = int(check_random_state(self.random_state).randint(2**31))
        return How(
            self.solver,
            None if self.inducing is None else check_inducing(self.inducing, domain, seed),
            check_priors(self.priors),
            # A kernel that is given is taken as it comes: what is not said of it is not assumed.
            {} if isinstance(self.kernel, Kernel) else default_priors,
            self.integrate and not isinstance(self.kernel, Kernel),
            _checks.count("n_starts", self.n_starts),
            max_iterations if learns and self.learn else 0,
            seed,
            report,
        )

    def _keep(self, blueprint: Blueprint, fitted: Fitted, little: Sequence[str] = (), *, then: str) -> None:
        """Make what was learned public, and say if that is not all it could be.

        Parameters
        ----------
        little : sequence of str
            Why there was little to learn from.
        then : str
            What predictions are where there was, such as "Predictions will be little more than the mean".
        """
        kernel = fitted.model.kernel
        warn_unless_converged(fitted.learned, self.max_iterations, stacklevel=4)
        warn_of_silence(kernel, blueprint.domain.relations, little, then=then)
        self.vertices_ = blueprint.domain.vertices
        self.posterior_ = fitted.posterior
        self.kernel_ = kernel
        self.hyperparameters_ = parameters.values(fitted.model)
        self.hyperparameter_posterior_ = fitted.uncertainty
        self.size_exponent_ = _one_or_all(fitted.exponents)
        self.size_exponent_profile_ = _one_or_all(fitted.profiles)
        self.relation_weights_ = kernel.shares() if isinstance(kernel, Sum) else None
        self.solver_ = fitted.posterior.solver
        self.solver_plan_ = None if fitted.plan is None else str(fitted.plan)
        self.n_iter_ = len(fitted.learned.trace) - 1
        self.n_features_in_ = 1

    def summary(self) -> Summary:
        """Return what was learned as a table: estimates, 90% intervals, standard errors, and what each means.

        Standard errors are on the scale on which a hyperparameter is learned, that is of the logarithm of a positive
        one. They come from the curvature at the mode, or from draws. A sentence below the table names those that the
        data say nothing about. `Summary.to_frame` has the numbers, `Summary.correlations` the correlations.
        """
        check_is_fitted(self)
        return summarise(self)

    @property
    def hyperparameter_covariance_(self) -> pd.DataFrame | None:
        """The covariance of hyperparameters on the scale on which they are learned; None where it is not known."""
        check_is_fitted(self)
        found = self.hyperparameter_posterior_
        return None if found is None else found.covariance_table()

    def plot(self, X: Iterable[Name] | None = None, y: Labels | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the obvious picture, and return its Axes.

        Of values: with ``X`` and ``y``, observations against predictions, those of vertices that the model was fitted
        to from all others; without, predictions with their intervals, of at most 40 vertices from the lowest to the
        highest. Of classes: a map of the vertices by predicted class, where rings mark ``X``, and crosses those of them
        whose prediction is not ``y``.

        Parameters
        ----------
        X, y : arrays, shape (n,), optional
            Vertices and what was observed of them.
        ax : Axes, optional
            Where to draw; a new figure if not given.
        """
        from hypergauss.plotting.tasks import plot_model  # with matplotlib, which estimators do without

        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("`X` and `y` go together: vertices and what was observed of them. Give both, or neither.")
        return plot_model(self, next(iter(Domain.of(self.H).relations.values())), X, y, ax)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: what was learned, once it was."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": _as_html(self)} if hasattr(self, "vertices_") else bundle

    def _growth(self, H: Relations | None, covariates: Matrix | None) -> tuple[Growth, dict[str, Any]]:
        """Return what becomes of the vertices, and the parameters that say so from then on."""
        check_is_fitted(self)
        relations = grown(self.H, H)
        old, new = Domain.of(self.H), Domain.of(relations)
        if covariates is not None and (self.covariates is None or isinstance(self.covariates, Kernel)):
            raise ValueError(
                "`covariates` must be of a model that has a table of them. Got some for one that has none, or a kernel "
                "in their place. Leave them out, or fit again."
            )
        parameters_now: dict[str, Any] = {"H": relations}
        table = None
        if self.covariates is not None and not isinstance(self.covariates, Kernel):
            parameters_now["covariates"] = self.covariates if covariates is None else covariates
            if are_many(self.covariates):
                self._check_features_stay(Growth(old, new), covariates)
            elif covariates is not None or not old.vertices.equals(new.vertices):
                table = new.table(parameters_now["covariates"])
        growth = Growth(old, new, table)
        for name in ("kernel", "covariates"):
            if isinstance(getattr(self, name), Kernel):
                parameters_now[name] = growth.kernel(getattr(self, name))
        return growth, parameters_now

    @staticmethod
    def _check_features_stay(growth: Growth, covariates: Matrix | None) -> None:
        if covariates is not None or not growth.is_nothing:
            raise ValueError(
                "Many features are known by directions that all vertices decide on, and smoothed over the relations: "
                "a model of them takes in observations alone. Got other vertices, hyperedges or covariates. Fit again."
            )

    def _with_newcomers(self, memberships: NewMemberships, covariates: Matrix | None) -> tuple[Any, list[Any]]:
        """Return a model that has taken in new vertices, and their names; this one stays as it is."""
        check_is_fitted(self)
        relations, names = with_newcomers(self.H, memberships)
        grown: Any = copy.copy(self)
        return grown.update(relations, covariates=covariates), names

    def _known(self, name: str) -> Any:
        """Return what was observed, which files of earlier versions do not have."""
        held = getattr(self, name)
        if held is None:
            raise ValueError(
                "The model must hold its observations to be updated. Got one from a file of an earlier version, "
                "which has none. Fit again."
            )
        return held

    def _keep_grown(self, growth: Growth, parameters_now: dict[str, Any], posterior: Any) -> None:
        """Make public what has changed; hyperparameters, and all else that was learned, have not."""
        self.kernel_ = growth.kernel(self.kernel_)
        self.set_params(**parameters_now)
        self.vertices_ = growth.new.vertices
        self.posterior_ = posterior
        self.solver_ = posterior.solver

    def _rows(self, X: Iterable[Name]) -> np.ndarray:
        check_is_fitted(self)
        return locate_vertices(self.vertices_, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def in_order_of(X: Iterable[Name], names: Names, values: Any, *, argument: str) -> Any:
    """Return what was observed in the order of the vertices, where an index of its own says whose it is.

    An index that numbers rows says nothing: the default one, that of a table which X is a column of as well, or one of
    whole numbers where vertices have other names.

    Parameters
    ----------
    X, names : iterable, and sequence of n names
        The vertices as they were given, and their names.
    values : array, Series, DataFrame or None
        One row a vertex.
    argument : str
        What the values are called, for the sentence that refuses an index with other names.
    """
    if not isinstance(values, pd.Series | pd.DataFrame) or len(values) != len(names):
        return values
    labels, wanted = list(as_list(values.index)), list(names)
    is_default = isinstance(values.index, pd.RangeIndex) and labels == list(range(len(labels)))
    is_of_one_table = isinstance(X, pd.Series | pd.DataFrame) and X.index.equals(values.index)
    has_numbers = values.index.dtype.kind in "iu" and not any(isinstance(name, Integral) for name in wanted)
    if is_default or is_of_one_table or has_numbers or labels == wanted:
        return values
    position = {label: at for at, label in enumerate(labels)}
    if len(position) < len(labels) or position.keys() != set(wanted):
        strange = next((label for label in labels if label not in set(wanted)), None)
        reason = "a vertex more than once" if strange is None else f"{plain(strange)!r}, which is not in `X`"
        raise ValueError(
            f"The index of `{argument}` must name the vertices of `X`, each once. Got {reason}. Give `{argument}` in "
            f"the order of `X` without an index: `{argument}.to_numpy()`."
        )
    return values.iloc[[position[name] for name in wanted]]


def half_given(X: object) -> ValueError:
    """Return the refusal of vertices without observations, or the other way round."""
    return ValueError(f"`X` and `y` go together. Got `{'y' if X is None else 'X'}` alone. Pass both, or neither.")


def nothing_given() -> ValueError:
    """Return the refusal of an update with nothing."""
    return ValueError("There must be something to take in. Got nothing. Pass `H`, or `X` and `y`, or all three.")


def warn_unless_converged(learned: Learned, max_iterations: int, *, stacklevel: int = 3) -> None:
    """Say so if learning was cut short."""
    if not learned.converged:
        remedy = f"Raise `max_iterations` above {max_iterations}, or guide" if learned.is_exhausted else "Guide"
        warnings.warn(
            f"Learning stopped before it converged ({learned.message.strip(' :')}). {remedy} the hyperparameters with "
            "`priors`.",
            LearningWarning,
            stacklevel=stacklevel,
        )


def _as_html(model: Any) -> str:
    """Return what a fitted estimator knows, what it learned, and how it was solved; below it its summary, if any."""
    rows = {"vertices": f"{len(model.vertices_):,}"}
    if hasattr(model, "classes_"):
        rows["classes"] = ", ".join(str(label) for label in model.classes_)
    rows |= {
        "kernel": type(model.kernel_).__name__,
        "size exponent": "-" if model.size_exponent_ is None else str(model.size_exponent_),
        "solver": model.solver_plan_ or model.solver_,
    }
    if not hasattr(model, "summary"):
        rows |= {name: parameters.brief(value) for name, value in model.hyperparameters_.items()}
    table = html_table(f"{type(model).__name__}, fitted", rows)
    return table + (model.summary()._repr_html_() if hasattr(model, "summary") else "")


def _one_or_all(by_relation: dict[str, Any]) -> Any:
    """Return the only entry, all of several, or None of none."""
    if len(by_relation) == 1:
        return next(iter(by_relation.values()))
    return by_relation or None
