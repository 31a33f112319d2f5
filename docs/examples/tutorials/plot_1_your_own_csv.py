"""
Bring your own CSV
==================
You have a table of who took part in what, and know something of some of them. This is how to get calibrated
predictions for all, and a page to show a colleague.
"""

# %%
# A table of memberships
# ----------------------
# One row a membership: who, and in what. Here it is made from bundled data, the votes of the US House of 1984, as
# ``hypergauss datasets house-votes`` does; yours may be CSV, TSV or Parquet.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import hypergauss as hg

folder = Path(tempfile.mkdtemp())
votes = hg.datasets.load_house_votes()
matrix = votes.hypergraph.incidence.tocoo()
pd.DataFrame(
    {
        "member": [f"member {v}" for v in votes.hypergraph.vertices[matrix.row]],
        "vote": [f"{issue} {voted}" for issue, voted in votes.hypergraph.edges[matrix.col]],
    }
).to_csv(folder / "votes.csv", index=False)
print((folder / "votes.csv").read_text()[:100])

# %%
# Read it
# -------
# The first two columns count, unless others are named. A hypergraph says what is in it.

H = hg.read_table(folder / "votes.csv", vertex="member", edge="vote")
print(H)

# %%
# Learn from some
# ---------------
# Suppose the party of one member in seven is known. A filter of the spectrum that is free in form follows parties well.

party = votes.target.rename(lambda v: f"member {v}")
known = party[list(H.vertices[::7])]
model = hg.HypergraphGPClassifier(H, kernel="bernstein", likelihood="logit", size_exponent=0.0, random_state=0)
model.fit(known.index, known)
others = [name for name in H.vertices if name not in known.index]
proba = model.predict_proba(others)
print(f"{len(known)} parties known, {len(others)} predicted")
print(f"right: {hg.metrics.accuracy(party[others], proba, model.classes_):.1%}")

# %%
# Can the probabilities be believed?

hg.plotting.reliability_diagram(hg.metrics.reliability(party[others].to_numpy(), proba, model.classes_))

# %%
# Why?
# ----
# Each prediction is a sum over the votes a member cast, and over the members whose party was known.

print(model.explain(others[3]))

# %%
# Whose party should be asked for next?

print(hg.suggest_vertices(model, 3))

# %%
# A page for a colleague, and the model for later
# -----------------------------------------------
# One self-contained page, and one file that is safe to open.

hg.write_report(model, folder / "report.html", known, title="Parties of the House, 1984")
hg.save(model, folder / "model.hypergauss")
again = hg.load(folder / "model.hypergauss")
print("the same predictions:", np.allclose(again.predict_proba(others), proba, rtol=1e-12))

# %%
# All of this is one command, too::
#
#     hypergauss fit votes.csv parties.csv --out results
