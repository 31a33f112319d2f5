"""
Classification: parties and how sure we are
===========================================
Two classes of legislators from how they vote, as in the paper's third study, with bundled data. ``hypergauss reproduce
congress`` runs the study itself where its data are at hand.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import hypergauss as hg

votes = hg.datasets.load_house_votes()
H, party = votes.hypergraph, votes.target
labelled = party.iloc[::5]
others = party.drop(labelled.index)

# %%
# Two filters
# -----------
# A Matern filter only lets smooth functions pass. A free one learns which parts of the spectrum tell parties apart, and
# the evidence lower bound knows that it is better.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, kernel in zip(axes, ("matern", "bernstein"), strict=True):
    model = hg.HypergraphGPClassifier(H, kernel=kernel, likelihood="logit", size_exponent=0.0, random_state=0)
    model.fit(labelled.index, labelled)
    proba = model.predict_proba(others.index)
    density = hg.metrics.log_predictive_density(others, proba, model.classes_)
    accuracy = hg.metrics.accuracy(others, proba, model.classes_)
    print(f"{kernel}: ELBO {model.elbo_:.1f}, accuracy {accuracy:.3f}, log density {density:.3f}")
    hg.plotting.spectrum_and_filter(model.kernel_, ax=ax)
    ax.set_title(kernel)

# %%
# The search for the best bound, iteration by iteration.
hg.plotting.learning_trace(model.elbo_trace_, label="ELBO")

# %%
# Who is hardest to place?
unsure = np.argsort(proba.max(axis=1))[:3]
for row in unsure:
    print(
        f"member {others.index[row]}: {dict(zip(model.classes_.tolist(), proba[row].round(2).tolist(), strict=True))}"
    )
