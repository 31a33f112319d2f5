r"""Which rated items speak for a recommendation: a prediction as a sum over ratings.

Given the items' rows of a draw, a user's row has the mean m + C Z' T (y - Z m) (`row_posteriors`), so that the
prediction of item j is a sum,

    mu + c_j + z_j . m + sum_l ( z_j' C z_l t_l ) (y_l - z_l . m),

of the mean of all ratings, the item's bias, what is expected of the user given all others and given whatever they
rated, and one term for each rating. All of these are averaged over the draws, and still add up.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hypergauss._views import html_bars, html_table
from hypergauss.factorisation.growing import Rules, row_prior
from hypergauss.factorisation.newcomers import Measured, features, row_sites, side_draws
from hypergauss.factorisation.predictive import Kept
from hypergauss.factorisation.ratings import Ratings
from hypergauss.factorisation.row_posteriors import condition
from hypergauss.factorisation.row_priors import Ground
from hypergauss.hypergraph.names import plain

#: How many rated items are shown as text.
_SHOWN = 5
#: And in a notebook.
_LISTED = 10


@dataclass(frozen=True)
class RatingExplanation:
    """A predicted rating taken apart: ``prediction = mean + item_bias + expected + items.contribution.sum()``.

    Attributes
    ----------
    user, item : name
        Whose rating of what.
    of : str
        What is explained: the predicted rating, before it is kept in bounds, or the latent value that thresholds cut.
    prediction : float
        Its value.
    mean : float
        That of all ratings.
    item_bias : float
        By how much the item is rated higher than others.
    expected : float
        What is expected of the user given everybody else, and given which items they rated but not how.
    items : DataFrame indexed by rated item
        ``rating``, and ``contribution``: what is added because it was rated so and not as expected; largest first.
    """

    user: Hashable
    item: Hashable
    of: str
    prediction: float
    mean: float
    item_bias: float
    expected: float
    items: pd.DataFrame

    def _repr_html_(self) -> str:
        parts = [("mean of all ratings", self.mean), ("item", self.item_bias), ("expected of the user", self.expected)]
        by_item = [*zip(map(str, self.items.index), self.items["contribution"], strict=True)]
        return (
            html_table(f"{self.item}, by {self.user}", {self.of: f"{self.prediction:.4g}"})
            + html_bars("what it is made of", [*parts, ("rated items", sum(value for _, value in by_item))])
            + html_bars(f"by rated item, {len(by_item):,} in all", by_item[:_LISTED])
        )

    def __str__(self) -> str:
        lines = [f"{self.of} of {self.item!r} by {self.user!r}: {self.prediction:.4g}"]
        parts = {"mean": self.mean, "item": self.item_bias, "expected of the user": self.expected}
        lines += [f"  {value:+.4g}  {name}" for name, value in parts.items()]
        lines.append(f"  rated items ({len(self.items):,} in all)")
        for name, row in self.items.head(_SHOWN).iterrows():
            lines.append(f"    {row['contribution']:+.4g}  {plain(name)!r}, rated {row['rating']:g}")
        return "\n".join(lines)


def explain(
    kept: Kept, ratings: Ratings, rules: Rules, grounds: tuple[Ground, Ground], pair: tuple[int, int]
) -> RatingExplanation:
    """Take apart the prediction of an item's row by a user's row."""
    user, item = pair
    chosen = np.flatnonzero((ratings.user == user) & (ratings.item != item))
    measured = Measured(ratings.item[chosen], ratings.values[chosen], user)
    prior = row_prior(side_draws(kept, 0), grounds[0], user, ratings.item[ratings.user == user])
    sites = row_sites(kept, 0, prior, measured, rules.scale, rules.levels)
    covariance = condition(prior, sites).covariance
    z, offset = features(kept, 0, np.array([item]))
    gains = np.einsum("sk,skl,snl->sn", z[:, 0], covariance, sites.z, optimize=True) * sites.t
    surprises = sites.y - np.einsum("snk,sk->sn", sites.z, prior.mean)
    by_item = (gains * surprises).mean(axis=0)
    expected = float(np.einsum("sk,sk->s", z[:, 0], prior.mean).mean())
    mean = float(kept.mean.mean())
    is_grade = rules.levels is not None
    center, spread = (0.0, 1.0) if is_grade else rules.scale[:2]
    table = pd.DataFrame(
        {"rating": measured.values, "contribution": spread * by_item},
        index=pd.Index(ratings.items[measured.others], name="item", tupleize_cols=False),
    ).sort_values("contribution", ascending=False, kind="stable")
    return RatingExplanation(
        user=plain(ratings.users[user]),
        item=plain(ratings.items[item]),
        of="latent value" if is_grade else "rating",
        prediction=center + spread * float(offset.mean() + expected + by_item.sum()),
        mean=center + spread * mean,
        item_bias=spread * (float(offset.mean()) - mean),
        expected=spread * expected,
        items=table,
    )
