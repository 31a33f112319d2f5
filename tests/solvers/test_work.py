"""How many observations are learned from, how many hyperparameters are averaged over, and what steps take."""

import pytest

from hypergauss.solvers.work import COUNTS, System, Work, coupled_is_affordable, learning_size, num_points


@pytest.mark.parametrize("kind", COUNTS)
def test_few_observations_are_all_learned_from(kind):
    assert learning_size(Work(250, kind, 4), 1_000) == 250


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("rank", [10, 100, 1_000])
def test_never_more_than_there_are_nor_fewer_than_some_hundreds(kind, rank):
    for n in (300, 1_000, 30_000, 1_000_000):
        size = learning_size(Work(n, kind, 3), rank)
        assert min(n, 250) <= size <= n


def test_the_more_an_evaluation_takes_the_fewer_observations_are_learned_from():
    sizes = [learning_size(Work(10**5), rank) for rank in (50, 100, 200, 400, 1_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]


def test_all_are_learned_from_where_that_is_asked_for_or_nothing_is_learned():
    assert learning_size(Work(10_000, from_all=True), 1_000) == 10_000
    assert learning_size(Work(10_000, learns=False), 1_000) == 10_000


def test_averaging_is_given_up_where_conditioning_takes_long():
    assert num_points(Work(200), 100, 1_000) == 20
    assert num_points(Work(10_000), 1_000, 20_000) == 0
    assert num_points(Work(200, averages=False), 100, 1_000) == 0
    assert 8 <= num_points(Work(250, "coupled", 5), 100, 1_000) <= 20


def test_coupled_classes_are_conditioned_on_some_hundreds_of_labels_but_not_on_thousands():
    assert coupled_is_affordable(500, 7)
    assert not coupled_is_affordable(3_000, 7)


@pytest.mark.parametrize("solver", ["dense", "low-rank"])
def test_every_step_takes_longer_with_more_of_anything(solver):
    small, more_sites, more_features = (System.of(n, r, solver) for n, r in ((100, 50), (200, 50), (100, 100)))
    work = Work(100, "variational", 2)
    for step in (System.evidence, lambda s: s.evaluation(work), lambda s: s.conditioning(work)):
        assert step(small) < step(more_sites)
        assert step(small) < step(more_features)
