"""
Reliability, and the trace of the bound
=======================================
Left, are predictions made with 80% confidence right 8 times in 10? Numbers count vertices. Right, the evidence lower
bound after each iteration of learning.
"""

import matplotlib.pyplot as plt

import hypergauss as hg

votes = hg.datasets.load_house_votes()
known, others = votes.target.iloc[::5], votes.target.drop(votes.target.index[::5])
model = hg.HypergraphGPClassifier(votes.hypergraph, "bernstein", likelihood="logit", size_exponent=0.0, random_state=0)
model.fit(known.index, known)
proba = model.predict_proba(others.index)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
hg.plotting.reliability_diagram(hg.metrics.reliability(others.to_numpy(), proba, model.classes_), ax=left)
hg.plotting.learning_trace(model.elbo_trace_, label="ELBO", ax=right)
