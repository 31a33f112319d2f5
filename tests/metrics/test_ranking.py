"""Orders against scikit-learn's score and cases worked by hand."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from hypergauss.metrics import ndcg, recall_at


@pytest.mark.parametrize("n", [1, 3, 10, None])
@pytest.mark.parametrize("ties", [False, True])
def test_gain_is_that_of_scikit_learn(n, ties):
    rng = np.random.default_rng(0)
    relevance = rng.integers(1, 6, (20, 8))
    scores = rng.integers(3, size=(20, 8)) if ties else rng.random((20, 8))
    users = np.repeat(np.arange(20), 8)
    shuffled = rng.permutation(160)
    ours = ndcg(users[shuffled], relevance.ravel()[shuffled], scores.ravel()[shuffled], n=n)
    assert ours == pytest.approx(ndcg_score(relevance, scores, k=n))


def test_users_may_have_different_numbers_of_items():
    # a: relevances in order 3, 1, 2 -> 3 + 1/log2(3); best 3 + 2/log2(3). b: 0, 1 -> 1/log2(3); best 1.
    log3 = np.log2(3)
    by_hand = ((3 + 1 / log3) / (3 + 2 / log3) + 1 / log3) / 2
    assert ndcg(["a", "a", "a", "b", "b"], [3, 1, 2, 1, 0], [0.9, 0.5, 0.1, 0.2, 0.8], n=2) == pytest.approx(by_hand)


def test_recall_is_the_share_of_what_was_to_be_found():
    users = ["a"] * 4 + ["b"] * 3 + ["c"] * 2
    relevant = [1, 1, 0, 1, 0, 1, 0, 0, 0]  # c has nothing to find
    scores = [0.9, 0.1, 0.8, 0.7, 3, 2, 1, 1, 2]
    assert recall_at(users, relevant, scores, n=1) == pytest.approx((1 / 3 + 0) / 2)
    assert recall_at(users, relevant, scores, n=2) == pytest.approx((1 / 3 + 1) / 2)
    assert recall_at(users, relevant, scores, n=3) == pytest.approx((2 / 3 + 1) / 2)
    assert recall_at(users, np.array(relevant, bool), scores, n=100) == 1.0


def test_equal_scores_share_their_places():
    assert recall_at(["a"] * 4, [1, 0, 0, 0], [1.0] * 4, n=1) == pytest.approx(0.25)
    assert recall_at(["a"] * 4, [1, 0, 1, 0], [2.0, 2.0, 1.0, 0.0], n=2) == pytest.approx(0.5)


def test_the_best_order_scores_one_and_others_less():
    rng = np.random.default_rng(1)
    users, relevance = np.repeat(np.arange(30), 10), rng.random(300)
    assert ndcg(users, relevance, relevance) == pytest.approx(1.0)
    assert ndcg(users, relevance, -relevance) < ndcg(users, relevance, rng.random(300)) < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg(["a"], [-1.0], [1.0]), "must not be negative"),
        (lambda: ndcg(["a"], [0.0], [1.0]), "nothing to find"),
        (lambda: ndcg(["a", "b"], [1.0], [1.0]), "same length"),
        (lambda: ndcg(["a"], [1.0], [np.nan]), "must not contain NaN"),
        (lambda: ndcg(["a"], [1.0], [1.0], n=0), "`n` must be at least 1"),
        (lambda: recall_at(["a"], [4.0], [1.0]), "True or False"),
        (lambda: recall_at([], [], []), "at least one"),
    ],
)
def test_what_cannot_be_scored_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
