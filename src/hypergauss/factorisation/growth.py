"""Newcomers and further ratings of a fitted factorisation, without a refit."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hypergauss import _checks
from hypergauss.exceptions import UnseenWarning
from hypergauss.factorisation import growing
from hypergauss.factorisation.answers import Answers, RandomState
from hypergauss.factorisation.explanation import RatingExplanation, explain
from hypergauss.factorisation.grounds import relation_row
from hypergauss.factorisation.implicit import check_given, watched_and_not
from hypergauss.factorisation.named_predictions import Prediction, together
from hypergauss.factorisation.newcomers import NewcomerPredictive, row_posterior, side_draws
from hypergauss.factorisation.row_priors import Ground, RowPrior, with_mood
from hypergauss.hypergraph.names import as_list, locate

#: Draws that a newcomer's row is conditioned under: more of them take time, and change a mean by less than is seen.
_MOST_DRAWS = 160
Memberships = Mapping[str, Iterable[Hashable]]
Rated = tuple[Iterable[Hashable], ArrayLike | None]


class Growth(Answers):
    """Answers of `KPMF` about those that it does not know yet; `update` and `explain` need inference="gibbs".

    The other side's rows, hyperparameters and noise stay as they were drawn: under each draw the newcomer's row has a
    prior, and is conditioned on its ratings. With the prior that the hypergraph gives to a vertex with these
    memberships, that is a refit, but for what the newcomer would tell of everybody else and of its own noise, of which
    the prior alone is known, and for sizes of hyperedges, which stay. Where `fit` was told of days, a newcomer's
    ratings are taken as of one day, that of the prediction too. Of more than 160 draws, so many, evenly spaced, are
    used.
    At the mode there is one draw of the other side, and a newcomer's row is a ridge regression on it.
    """

    grounds_: tuple[Ground, Ground]

    def predict_new(
        self,
        items: Iterable[Hashable],
        ratings: ArrayLike | None = None,
        targets: Iterable[Hashable] | None = None,
        *,
        relations: Memberships | None = None,
        prior: str | None = None,
        return_std: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the mean ratings of a user who was not there in the fit; the model stays as it is.

        Parameters
        ----------
        items : array-like of names, shape (n,)
            What the newcomer rated, of the items known. With none, and no relations, predictions are those of a user
            of whom nothing is known, and a warning says so.
        ratings : array-like, shape (n,)
            How; left out for likelihood="implicit".
        targets : array-like of names, optional
            Items to predict; all of ``items_`` if not given.
        relations : dict of name to list of hyperedges, optional
            The newcomer's memberships in ``user_relations``.
        prior : {"hypergraph", "population"}, optional
            What is expected of the newcomer before their ratings: what the hypergraph says of a vertex with these
            memberships, as a refit would take it, or mean and variance over all users of the fit. Unless told, it is
            "population" where ratings are given and ``relations`` are not, and "hypergraph" otherwise. With
            inference="map" it is mean 0 and the kernel's variance, unless told "population".
        return_std : bool
            Whether to return the standard deviation of a new rating as well.
        """
        mean, std = self._predicted_new(0, (items, ratings), targets, relations, prior)
        return (mean, std) if return_std else mean

    def predict_new_item(
        self,
        users: Iterable[Hashable],
        ratings: ArrayLike | None = None,
        targets: Iterable[Hashable] | None = None,
        *,
        relations: Memberships | None = None,
        prior: str | None = None,
        return_std: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the mean ratings of an item that was not there in the fit, by ``targets`` or all users known.

        As `predict_new`, with users who rated it and its memberships in ``item_relations``.
        """
        mean, std = self._predicted_new(1, (users, ratings), targets, relations, prior)
        return (mean, std) if return_std else mean

    def recommend_new(
        self,
        items: Iterable[Hashable],
        ratings: ArrayLike | None = None,
        n: int = 10,
        *,
        relations: Memberships | None = None,
        prior: str | None = None,
        include_seen: bool = False,
    ) -> pd.DataFrame:
        """Return the n items of the highest predicted rating for a user who was not there in the fit.

        As `recommend`; items given are left out unless asked for. Parameters are those of `predict_new`.
        """
        prediction, seen = self._newcomer(0, (items, ratings), relations, prior)
        return prediction.highest(n, None if include_seen else seen)

    def update(
        self,
        users: Iterable[Hashable],
        items: Iterable[Hashable],
        ratings: ArrayLike | None = None,
        *,
        random_state: RandomState = None,
    ) -> Self:
        """Take in more ratings, of users and items known or new, without learning again.

        Under each draw the rows of these users, then of these items, are drawn anew from what they are given
        everything else, three times over: sweeps of the sampler over the rows concerned. Other rows, hyperparameters
        and noise stay, so that it is a refit as long as the new ratings say little of those; fit again when much has
        come. Known users and items keep their place in the hypergraph, and newcomers stand by what they have ratings
        with; of relations newcomers have none.

        A pair that is rated already is left alone where the rating is the same, and refused where it is not. An
        update that is refused leaves the model as it was.

        Parameters
        ----------
        users, items : array-like of names, shape (n,)
            Who rated what.
        ratings : array-like, shape (n,)
            How; in the bounds, and for ordered classes among the levels, of the fit.
        random_state : int, RandomState or None
            For the rows drawn.
        """
        chains = self._kept()
        if self.likelihood == "implicit":
            raise ValueError(
                "`update` needs ratings, and there are none with likelihood='implicit': an event may be of a pair that "
                "was taken as not watched. Fit again; `predict_new` is for newcomers."
            )
        self._refuse_days("update")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        names = as_list(users)
        new = (names, items, check_given(ratings, self.likelihood, len(names)))
        grown = growing.grow(together(chains), self.ratings_, new, self._rules(), self.grounds_, rng)
        self.draws_ = growing.as_chains(grown.kept, chains)
        self.ratings_ = grown.ratings
        self.users_, self.items_ = grown.ratings.users, grown.ratings.items
        return self

    def explain(self, user: Hashable, item: Hashable) -> RatingExplanation:
        """Return which of a user's ratings speak for an item, and how much: contributions that add up.

        Given the items' draws a user's mean row is linear in their ratings, so the prediction is a sum. It is that of
        `predict` within Monte Carlo error, before bounds; a rating that the pair has itself is left out.
        """
        kept = together(self._kept())
        self._refuse_days("explain")
        rows = [
            int(locate(index, [name], argument=argument, owner="the fit", cure="Bring them in by `update`.")[0])
            for argument, name, index in (("user", user, self.users_), ("item", item, self.items_))
        ]
        return explain(kept, self._explained(), self._rules(), self.grounds_, (rows[0], rows[1]))

    def _predicted_new(
        self,
        side: int,
        rated: Rated,
        targets: Iterable[Hashable] | None,
        relations: Memberships | None,
        prior: str | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        prediction, _ = self._newcomer(side, rated, relations, prior)
        others = self.users_ if side else self.items_
        rows = np.arange(len(others))
        if targets is not None:
            cure = "Leave them out, or bring them in by `update`."
            rows = locate(others, targets, argument="targets", owner=f"those known ({len(others):,})", cure=cure)
        return prediction.of_rows(rows, rows)

    def _newcomer(
        self, side: int, rated: Rated, relations: Memberships | None, prior: str | None
    ) -> tuple[Prediction, np.ndarray]:
        """Return predictions for a newcomer of one side, and the rows that it has ratings with."""
        check_is_fitted(self, "users_")
        names = as_list(rated[0])
        given = check_given(rated[1], self.likelihood, len(names))
        known_of = self._check_prior(prior, relations, has_ratings=self.likelihood != "implicit" and len(names) > 0)
        if side:
            self._refuse_days("predict_new_item")
        idle = None if known_of == "population" else ("items" if side else "users")
        kept = together(self._mode() if self.inference == "map" else self.draws_, without=idle, most=_MOST_DRAWS)
        rules, (others, argument) = self._rules(), (self.users_, "users") if side else (self.items_, "items")
        measured = growing.newcomer_ratings(names, given, rules, others, argument=argument)
        seen = measured.others
        if self.likelihood == "implicit":
            measured = watched_and_not(seen, len(others), rules.scale.rate)
        draws, is_known = side_draws(kept, side), len(seen) > 0
        if known_of == "population":
            expected, is_known = draws.population(len(self.items_ if side else self.users_)), True
        elif known_of == "kernel":
            expected = RowPrior(np.zeros_like(draws.lone), draws.lone)
        else:
            ground, named = self.grounds_[side], (self.item_relations if side else self.user_relations) or {}
            row = relation_row("relations", relations, named, ground.scales)
            expected = draws.newcomer(ground.of_newcomer(seen[seen < len(ground.voices)], row))
            is_known |= bool(row.any())
        if not is_known:
            what = "no user has rated it" if side else "it has rated nothing"
            warnings.warn(
                f"Nothing is known of the newcomer: {what}, and no relation tells of it. Predictions are those of the "
                "prior.",
                UnseenWarning,
                stacklevel=4,  # that of a method of `KPMF`
            )
        expected = with_mood(expected, kept.mood_variance)
        posterior = row_posterior(kept, side, expected, measured, rules.scale, rules.levels)
        predictive = NewcomerPredictive(kept, side, posterior, rules.scale, rules.levels)
        return Prediction(predictive, self.ratings_, self.bounds_), seen

    def _check_prior(self, prior: str | None, relations: Memberships | None, *, has_ratings: bool) -> str:
        """Return what is expected of a newcomer before their ratings: "hypergraph", "population" or "kernel"."""
        if prior is not None:
            _checks.one_of("prior", prior, ("hypergraph", "population"))
        if prior == "hypergraph" and self.inference == "map":
            raise ValueError(
                "`prior='hypergraph'` needs inference='gibbs'. At the mode a newcomer has the variance of the kernel: "
                "leave `prior` out, or take 'population'."
            )
        if relations and (prior == "population" or self.inference == "map"):
            having = "prior='population'" if prior == "population" else "inference='map'"
            raise ValueError(
                f"`relations` must be left out with {having}, which does not look at them. Got "
                f"{', '.join(map(repr, relations))}. Use prior='hypergraph', with inference='gibbs'."
            )
        if prior is not None:
            return prior
        if self.inference == "map":
            return "kernel"
        return "population" if has_ratings and not relations else "hypergraph"

    def _refuse_days(self, method: str) -> None:
        if self.days_ is not None:
            raise ValueError(
                f"`{method}` needs ratings without days, on which moods would be unknown. Got a fit with `days`. "
                "Fit again with all that is known, or without `days`."
            )

    def _rules(self) -> growing.Rules:
        return growing.Rules(self.scale_, self.levels_, self.bounds_)
