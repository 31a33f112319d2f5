import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from hypergauss import Hypergraph, HypergraphGPLVM, LogNormal
from hypergauss.datasets import load_zoo
from hypergauss.embedding import pivots
from hypergauss.exceptions import LearningWarning
from hypergauss.kernels import SquaredExponential
from hypergauss.metrics import kmeans_agreement, nearest_neighbour_accuracy
from tests.hypergraphs import relabelled

ZOO = load_zoo()
H, TYPES = ZOO.hypergraph, ZOO.target.to_numpy()
SMALL = H.subhypergraph(vertices=H.vertices[::4])  # 26 animals, some hyperedges empty


def quick(**options):
    return HypergraphGPLVM(**{"starts": ["spectral"], "random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted():
    return HypergraphGPLVM(random_state=0).fit(H)


def distances(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


# ---------------------------------------------------------------- the zoo


def test_the_zoo_is_separated_as_the_study_says(fitted):
    found = kmeans_agreement(fitted.embedding_, TYPES)
    assert found.adjusted_mutual_information >= 0.84
    assert found.homogeneity >= 0.91
    assert found.completeness >= 0.81
    assert nearest_neighbour_accuracy(fitted.embedding_, TYPES) >= 0.96


def test_all_starts_are_reported_and_the_highest_kept(fitted):
    assert list(fitted.starts_.index) == ["spectral", "pca", "random 1", "random 2"]
    assert fitted.starts_.kept.sum() == 1
    kept = fitted.starts_[fitted.starts_.kept].iloc[0]
    assert kept.log_posterior == fitted.starts_.log_posterior.max() == fitted.log_posterior_
    assert fitted.n_iter_ == kept.iterations == len(fitted.trace_) - 1
    assert (np.diff(fitted.trace_) > -1e-6).all()


def test_a_fit_is_the_same_again_from_one_seed(fitted):
    again = HypergraphGPLVM(random_state=0).fit(H)
    assert np.array_equal(again.embedding_, fitted.embedding_)
    assert again.log_posterior_ == fitted.log_posterior_


def test_the_map_is_turned_to_its_principal_axes(fitted):
    spread = np.cov(fitted.embedding_.T)
    assert spread[0, 1] == pytest.approx(0.0, abs=1e-10)
    assert spread[0, 0] > spread[1, 1]


def test_uncertainty_is_small_against_the_map_and_less_than_the_priors(fitted):
    std = fitted.coordinate_std_
    assert std.shape == (101, 2)
    assert (std > 0).all()
    assert std.mean() < np.sqrt((fitted.embedding_**2).mean()) / 2
    assert std.max() < 1 / fitted.hyperparameters_["latent_lengthscale"]
    assert np.allclose(std**2, np.diagonal(fitted.coordinate_covariance_, axis1=1, axis2=2))


def test_relabelling_vertices_permutes_the_map(rng):
    order = rng.permutation(SMALL.num_vertices)
    before, after = (quick(max_iterations=1000).fit(G) for G in (SMALL, relabelled(SMALL, order)))
    assert after.log_posterior_ == pytest.approx(before.log_posterior_, rel=1e-4)
    assert np.allclose(distances(after.embedding_), distances(before.embedding_)[np.ix_(order, order)], atol=0.1)


# ---------------------------------------------------------------- new vertices and hidden memberships


def test_a_known_vertex_placed_anew_lands_on_its_place(fitted):
    again, std = fitted.transform(H.incidence[:40].toarray(), return_std=True)
    assert np.abs(again - fitted.embedding_[:40]).max() < 0.2
    assert (std > 0).all()


def test_left_out_animals_land_by_their_own_type():
    traits = H.incidence.toarray()
    hits = []
    for animal in range(0, 101, 10):
        rest = np.delete(np.arange(101), animal)
        model = quick().fit(H.subhypergraph(vertices=H.vertices[rest]))
        nearest = ((model.embedding_ - model.transform(traits[[animal]])) ** 2).sum(axis=1).argmin()
        hits.append(TYPES[rest][nearest] == TYPES[animal])
    assert np.mean(hits) >= 0.9


def test_new_vertices_may_come_by_name_as_a_table_or_a_hypergraph_or_sparse(fitted):
    expected = fitted.transform(H.incidence[[3, 60]].toarray())
    part = H.subhypergraph(vertices=H.vertices[[3, 60]])
    table = pd.DataFrame(part.incidence.toarray(), columns=pd.Index(H.edges, tupleize_cols=False))
    for form in (part, table, table.iloc[:, ::-1], H.incidence[[3, 60]]):
        assert np.allclose(fitted.transform(form), expected, atol=1e-6)


def test_new_vertices_may_come_as_the_hyperedges_that_they_join(fitted):
    rows = H.incidence[[3, 60]]
    joined = {name: list(H.edges[row.indices]) for name, row in zip(("new", "other"), rows, strict=True)}
    assert np.allclose(fitted.transform(joined), fitted.transform(rows.toarray()), atol=1e-6)
    known, edge = H.vertices[0], H.edges[0]
    for wrong, message in (
        ({known: [edge]}, "of new vertices.*See `embedding_`"),
        ({"new": ["nothing"]}, "hyperedges that the model knows.*Leave out hyperedges"),
        ({}, "at least one new vertex"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.transform(wrong)


def test_a_newcomer_of_whom_nothing_is_known_stands_at_the_origin(fitted):
    place, std = fitted.transform(np.full((1, H.num_edges), np.nan), return_std=True)
    assert np.allclose(place, 0.0, atol=1e-4)
    assert np.allclose(std, 1 / fitted.hyperparameters_["latent_lengthscale"], rtol=1e-3)


def test_an_unknown_trait_moves_a_newcomer_little(fitted):
    traits = H.incidence[[5]].toarray()
    unknown = traits.copy()
    unknown[0, :2] = np.nan
    assert np.linalg.norm(fitted.transform(unknown) - fitted.transform(traits)) < 0.3


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_hidden_memberships_are_predicted(solver):
    hidden = np.random.default_rng(0).random(H.incidence.shape) < 0.1
    truth = H.incidence.toarray() > 0
    model = quick(solver=solver, **({"n_inducing": 60} if solver == "sparse" else {})).fit(H, missing=hidden)
    scores = model.reconstruct()
    assert scores.shape == truth.shape
    assert list(scores.index) == list(H.vertices)
    assert roc_auc_score(truth[hidden], scores.to_numpy()[hidden]) >= 0.95


def test_hidden_memberships_are_really_hidden():
    hidden = np.zeros(SMALL.incidence.shape, dtype=bool)
    hidden[2, :6] = hidden[9, 4] = True
    flipped = Hypergraph.from_incidence(
        np.where(hidden, 1 - SMALL.incidence.toarray(), SMALL.incidence.toarray()), SMALL.vertices, SMALL.edges
    )
    one, other = (quick().fit(G, missing=hidden) for G in (SMALL, flipped))
    assert np.allclose(one.embedding_, other.embedding_)
    assert np.allclose(one.reconstruct(), other.reconstruct())


# ---------------------------------------------------------------- options


def test_the_sparse_model_with_few_inducing_vertices_is_close_to_the_exact_one(fitted):
    model = quick(solver="sparse", n_inducing=60).fit(H)
    assert model.solver_ == "sparse"
    assert len(model.inducing_) == 60
    assert set(model.inducing_) <= set(H.vertices)
    assert model.log_posterior_ == pytest.approx(fitted.log_posterior_, abs=1.0)
    assert nearest_neighbour_accuracy(model.embedding_, TYPES) >= 0.95
    again = model.transform(H.incidence[:10].toarray())
    assert np.abs(again - model.embedding_[:10]).max() < 0.2


def test_nu_and_lengthscale_are_learned_if_not_fixed():
    # Later iterations turn on rounding: the lengthscale is at its bound, and the evidence all but level.
    model = quick(fixed=(), max_iterations=20, priors={"nu": LogNormal(1.5, 0.05)})
    with pytest.warns(LearningWarning):
        model.fit(SMALL)
    assert float(model.kernel_.lengthscale) != 5.0
    assert model.hyperparameters_["nu"] == pytest.approx(1.5, rel=0.3)


def test_covariates_enter_and_are_asked_for_again():
    covariates = pd.DataFrame({"legs": ZOO.table.legs, "one": 1.0})
    model = quick(covariates=covariates, max_iterations=1000).fit(SMALL)
    assert "lengthscale" in model.hyperparameters_
    new = H.incidence[[1]].toarray()
    legs = covariates.to_numpy()[[1]]
    assert model.transform(new, covariates=legs).shape == (1, 2)
    with pytest.raises(ValueError, match="This model has covariates"):
        model.transform(new)
    with pytest.raises(ValueError, match=r"the 2 columns fitted\. Got shape \(1, 1\)"):
        model.transform(new, covariates=legs[:, :1])
    with pytest.raises(ValueError, match="This model has no covariates"):
        quick().fit(SMALL).transform(new, covariates=legs)


def test_other_latent_kernels_may_be_given():
    linear = quick(latent_kernel="linear", max_iterations=1000).fit(SMALL)
    assert roc_auc_score(SMALL.incidence.toarray().ravel() > 0, linear.reconstruct().to_numpy().ravel()) > 0.85
    own = quick(latent_kernel=lambda U: SquaredExponential(U, 0.5, fixed=("lengthscale", "variance"))).fit(SMALL)
    same = quick().fit(SMALL)
    assert own.log_posterior_ == pytest.approx(same.log_posterior_, abs=3.0)


def test_any_number_of_components():
    model = quick(n_components=4).fit(SMALL)
    assert model.embedding_.shape == (26, 4)
    spread = np.cov(model.embedding_.T)
    assert np.allclose(spread, np.diag(np.diagonal(spread)), atol=1e-8)  # principal axes, the widest first
    assert (np.diff(np.diagonal(spread)) <= 1e-12).all()
    assert (np.linalg.eigvalsh(model.coordinate_covariance_) > 0).all()
    assert np.allclose(np.diagonal(model.coordinate_covariance_, axis1=1, axis2=2), model.coordinate_std_**2)


def test_larger_problems_go_the_sparse_way_and_too_large_ones_are_refused(monkeypatch):
    monkeypatch.setattr(pivots, "LARGEST_DENSE", 20)
    assert quick(n_inducing=10).fit(SMALL).solver_ == "sparse"
    monkeypatch.setattr(pivots, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match=r"A dense model must fit in .* Take `solver='sparse'`"):
        quick(solver="dense").fit(SMALL)
    with pytest.raises(ValueError, match="Lower `n_inducing`"):
        quick().fit(SMALL)


# ---------------------------------------------------------------- awkward and bad input


def awkward(kind):
    R = SMALL.incidence.toarray()
    if kind == "two identical vertices":
        R[1] = R[0]
    if kind == "a vertex in no hyperedge":
        R[3] = 0.0
    if kind == "a hyperedge of every vertex":
        R[:, 0] = 1.0
    if kind == "an all-zero column":
        R[:, 5] = 0.0
    if kind == "two parts":
        R = np.kron(np.eye(2), R[:6, :6] + np.eye(6))
    if kind == "one hyperedge":
        R = R[:, [0]]
    return Hypergraph.from_incidence(R)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
@pytest.mark.parametrize(
    "kind",
    [
        "two identical vertices",
        "a vertex in no hyperedge",
        "a hyperedge of every vertex",
        "an all-zero column",
        "two parts",
        "one hyperedge",
    ],
)
@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.LearningWarning")
def test_awkward_hypergraphs_are_placed(kind, solver):
    G = awkward(kind)
    inducing = {"n_inducing": 12} if solver == "sparse" else {}
    model = HypergraphGPLVM(random_state=0, n_random=1, solver=solver, **inducing, max_iterations=100).fit(G)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.coordinate_std_).all()
    assert np.isfinite(model.reconstruct().to_numpy()).all()
    assert np.isfinite(model.transform(G.incidence[:2].toarray())).all()
    if kind == "two identical vertices":
        assert np.allclose(model.embedding_[0], model.embedding_[1], atol=0.05)
    if kind == "a vertex in no hyperedge":
        # Only the prior holds it, whose spread is some seven lengthscales.
        assert np.allclose(model.embedding_[3], 0.0, atol=0.3)
        assert model.coordinate_std_[3].min() > model.coordinate_std_[:3].max()
    if kind == "an all-zero column":
        assert (model.reconstruct().iloc[:, 5] == 0).all()


@pytest.mark.parametrize(
    ("options", "G", "error", "message"),
    [
        ({"n_components": 3}, Hypergraph.from_edges([["a", "b", "c"]]), ValueError, "between 1 and 2 .*Got 3"),
        ({}, Hypergraph.from_edges([["a"]]), ValueError, "at least two vertices. Got 1"),
        ({}, Hypergraph.from_incidence(np.zeros((4, 2))), ValueError, "a hyperedge with known members.*with none"),
        ({}, H.incidence, TypeError, "must be a Hypergraph. Got csr_array"),
        ({"starts": []}, SMALL, ValueError, "at least one of spectral, pca, random"),
        ({"starts": ["pcb"]}, SMALL, ValueError, "`starts` must be one of 'spectral'.*Got 'pcb'"),
        ({"latent_kernel": "cubic"}, SMALL, ValueError, "`latent_kernel` must be one of .*Got 'cubic'"),
        ({"solver": "magic"}, SMALL, ValueError, "`solver` must be one of .*Got 'magic'"),
        ({"nu": -1.0}, SMALL, ValueError, "`nu` must be positive"),
        ({"fixed": ["beta"]}, SMALL, ValueError, "`fixed` must be one of 'nu', 'lengthscale'. Got 'beta'"),
        ({"n_inducing": 0}, SMALL, ValueError, "`n_inducing` must be at least 1"),
    ],
)
def test_what_cannot_be_fitted_is_explained(options, G, error, message):
    with pytest.raises(error, match=message):
        quick(**options).fit(G)


@pytest.mark.parametrize("missing", [np.zeros((3, 3), dtype=bool), np.zeros(SMALL.incidence.shape)])
def test_a_mask_of_the_wrong_kind_is_explained(missing):
    with pytest.raises(ValueError, match="`missing` must be a boolean array"):
        quick().fit(SMALL, missing=missing)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((2, 3)), "a column for each of the 36 hyperedges. Got shape .2, 3."),
        (-np.ones((1, 36)), "finite and not negative"),
        (pd.DataFrame({"wheels": [1]}), "must belong to the 36 hyperedges fitted. Got 'wheels'"),
    ],
)
def test_memberships_that_do_not_fit_are_explained(fitted, rows, message):
    with pytest.raises(ValueError, match=message):
        fitted.transform(rows)


# ---------------------------------------------------------------- scikit-learn


def test_parameters_are_stored_as_given_and_survive_cloning():
    model = quick(nu=2.5)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_components=3).n_components == 3
    before = dict(model.get_params())
    model.set_params(max_iterations=300).fit(SMALL)
    assert model.get_params() == before | {"max_iterations": 300}


def test_fit_transform_returns_the_embedding_and_fit_the_model():
    model = quick()
    assert model.fit(SMALL) is model
    assert np.array_equal(quick().fit_transform(SMALL), model.embedding_)


def test_a_fitted_model_survives_pickling(fitted):
    restored = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(restored.embedding_, fitted.embedding_)
    assert np.array_equal(restored.transform(H.incidence[:2]), fitted.transform(H.incidence[:2]))


def test_an_unfitted_model_says_so():
    for ask in (lambda m: m.transform(np.ones((1, 36))), lambda m: m.reconstruct()):
        with pytest.raises(NotFittedError):
            ask(quick())
