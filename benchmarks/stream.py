"""A stream: bills of the Congress of Peru by date, and legislators who are predicted when they first sign one.

Each bill is a hyperedge of its signers. When one brings newcomers, the hypergraph has grown by all bills since the last
such one; their sides (government, opposition or minority) are predicted from the bill, then they are seen. One way
fits a model anew each time, from all that is known. Another has fitted once, when the first legislators of all sides
were known, and updates: hyperparameters stay, with the values that are averaged over and their weights. A third also
updates, and learns again whenever twice as many legislators are known. All three see the same.

Processor time is that of fits or updates, the first fit aside, which all have in common, and with predictions. Targets:
a log density within 0.01 nats of fitting each time, in a twentieth of its time.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.common import is_quick, publish, table
from hypergauss import Hypergraph, HypergraphGPClassifier
from hypergauss.datasets.folder import Folder

FOLDER = Folder("peru-congress-2006-2011", "See `fetch_peru_congress` for where the bills are public.")
#: Legislators known when the first model is fitted; all three sides must be among them.
FIRST = 40
#: Targets: nats of the log density, and how many times faster.
WITHIN, FASTER = 0.01, 20.0
#: The side of each group, as that of the legislators of 2007; others are the minority's.
SIDES = {
    "Partido Aprista Peruano": "government",
    "Nacionalista Unión por el Perú": "opposition",
    "Grupo Parlamentario Nacionalista": "opposition",
}
SETTINGS = {"averaged over hyperparameters": {}, "at the mode of the hyperparameters": {"integrate": False}}


class Arrival(NamedTuple):
    """A bill that brings newcomers: the hypergraph with it, and who is new."""

    hypergraph: Hypergraph
    newcomers: list[int]


class Way(NamedTuple):
    """How a way went: log density of each newcomer's side, whether it was the most probable, and seconds."""

    densities: np.ndarray
    hits: np.ndarray
    learning: float
    predicting: float


def sides() -> pd.Series:
    """Return the side of each legislator: that of 2007, or of the first group stated for one who came later."""
    known = pd.read_csv(FOLDER.file("vertices_2007.csv")).set_index("legislator_id")["label"]
    later = pd.read_csv(FOLDER.file("legislators.csv")).set_index("legislator_id").filter(like="group_")
    first = later.bfill(axis=1).iloc[:, 0].map(lambda group: SIDES.get(group, "minority"))
    return known.reindex(first.index).fillna(first)


def arrivals(most: int | None = None) -> Iterator[Arrival]:
    """Yield the bills that bring newcomers, in the order of their dates and numbers."""
    bills = pd.read_csv(FOLDER.file("bills.csv"), dtype={"bill_id": str})
    signed = pd.read_csv(FOLDER.file("sponsorships.csv"), dtype={"bill_id": str})
    dated = signed.merge(bills[["bill_id", "date"]], on="bill_id").sort_values(["date", "bill_id"], kind="stable")
    signers = dated.groupby("bill_id", sort=False)["legislator_id"].apply(list)
    H, waiting, known = Hypergraph.from_edges({}), dict[str, list[int]](), set[int]()
    for bill, members in signers.items():
        waiting[str(bill)] = members
        newcomers = [member for member in members if member not in known]
        if newcomers:
            H, waiting = H.with_edges(waiting), {}
            known.update(newcomers)
            yield Arrival(H, newcomers)
            if most is not None and len(known) >= most:
                return


def followed(
    stream: list[Arrival], labels: pd.Series, learn: Callable[[Any, Hypergraph, list[int], list[int]], Any]
) -> Way:
    """Predict each newcomer before their side is seen; ``learn`` gives the model that does, from the one before."""
    model, seen, new = None, list[int](), list[int]()
    densities, hits, learning, predicting = [], [], 0.0, 0.0
    for H, newcomers in stream:
        if len(seen) >= FIRST and labels[seen].nunique() == labels.nunique():
            is_first, start = model is None, time.process_time()
            model = learn(model, H, seen, new)
            learned = time.process_time()
            proba = model.predict_proba(newcomers)
            own = proba[np.arange(len(newcomers)), np.searchsorted(model.classes_, labels[newcomers])]
            densities.extend(np.log(own))
            hits.extend(model.classes_[proba.argmax(axis=1)] == labels[newcomers])
            predicting += time.process_time() - learned
            learning += 0.0 if is_first else learned - start
            new = []
        seen, new = [*seen, *newcomers], [*new, *newcomers]
    return Way(np.array(densities), np.array(hits), learning, predicting)


def ways(labels: pd.Series, options: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return each way by name, as a function from what is known to a model."""

    def fit(_: Any, H: Hypergraph, seen: list[int], __: list[int]) -> Any:
        return HypergraphGPClassifier(H, random_state=0, **options).fit(seen, labels[seen].to_numpy())

    def update(model: Any, H: Hypergraph, seen: list[int], new: list[int]) -> Any:
        if model is None:
            return fit(model, H, seen, new)
        return model.update(H, new, labels[new].to_numpy()) if new else model.update(H)

    def learn_again(model: Any, H: Hypergraph, seen: list[int], new: list[int]) -> Any:
        is_due = model is None or len(seen) >= 2 * learned_from[-1]
        if is_due:
            learned_from.append(len(seen))
        return (fit if is_due else update)(model, H, seen, new)

    learned_from = [0]
    return {"fit each time": fit, "update": update, "update, fit when known twice": learn_again}


def main(*, quick: bool) -> None:
    labels, stream = sides(), list(arrivals(FIRST + 15 if quick else None))
    tables, notes = [], []
    for title, options in SETTINGS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {name: followed(stream, labels, way) for name, way in ways(labels, options).items()}
        reference, rows = found["fit each time"], []
        for name, way in found.items():
            gap = way.densities - reference.densities
            error = gap.std(ddof=1) / np.sqrt(len(gap))
            ratio = reference.learning / way.learning
            with_predictions = (reference.learning + reference.predicting) / (way.learning + way.predicting)
            rows.append(
                [
                    name,
                    f"{way.hits.mean():.3f}",
                    f"{way.densities.mean():.3f}",
                    f"{gap.mean():+.3f} ± {error:.3f}",
                    f"{way.learning:.1f} s",
                    f"{ratio:.1f} ({with_predictions:.1f})",
                ]
            )
            if name == "update":
                near = "met" if gap.mean() >= -WITHIN else "MISSED"
                quick_enough = "met" if ratio >= FASTER else "MISSED"
                notes.append(
                    f"Update, {title}: {gap.mean():+.4f} nats against fitting each time (at least -{WITHIN:g}: "
                    f"{near}); {ratio:.1f} times faster (at least {FASTER:g}: {quick_enough})."
                )
        columns = ("way", "accuracy", "log density", "less that of fitting", "processor", "faster (with predictions)")
        tables.append(table(f"Newcomers, {title}", columns, rows))
    count = len(reference.densities)
    notes.append(
        f"{count} newcomers predicted one bill after another; a model is fitted first when {FIRST} legislators and all "
        f"three sides are known. In the end {stream[-1].hypergraph}."
    )
    publish("stream", tables, notes, quick=quick)


if __name__ == "__main__":
    main(quick=is_quick(__doc__))
