"""The example report: the members of the US House of 1984 by their votes, a part of the parties known."""

import numpy as np

import hypergauss as hg

#: Members whose party is shown to the model.
KNOWN = 60


def write(folder):
    """Fit, assess by cross-validation, and write ``example-report.html`` into a folder that is copied as it is."""
    votes = hg.datasets.load_house_votes()
    incidence = votes.hypergraph.incidence
    members = [f"member {v}" for v in votes.hypergraph.vertices]
    ballots = [f"{issue}: {voted}" for issue, voted in votes.hypergraph.edges]
    H = hg.Hypergraph.from_incidence(incidence, vertices=members, edges=ballots)
    known = np.sort(np.random.default_rng(0).permutation(len(members))[:KNOWN])
    names, parties = [members[i] for i in known], votes.target.to_numpy()[known]
    model = hg.HypergraphGPClassifier(H, random_state=0).fit(names, parties)
    hg.write_report(
        model,
        folder / "example-report.html",
        dict(zip(names, parties, strict=True)),
        assessment=hg.assess(model, names, parties, folds=5),
        title="Parties of the US House of 1984",
        notes=[votes.description, f"The parties of {KNOWN} members were shown to the model; the others are predicted."],
    )
