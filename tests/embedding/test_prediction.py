import numpy as np
import pytest

from hypergauss.embedding.prediction import condition_exactly, condition_on_inducing
from tests.embedding.models import case


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_left_out_entries_are_predicted_from_all_others_of_their_column(missing):
    c = case(missing=missing)
    found = condition_exactly(c.covariances(), c.data).left_out
    C = c.covariance()
    for j, (h, p) in enumerate(zip(c.data.values.T, c.data.pattern_of, strict=True)):
        for i in range(len(h)):
            rest = c.data.patterns[p] & (np.arange(len(h)) != i)
            expected = C[i, rest] @ np.linalg.solve(C[np.ix_(rest, rest)], h[rest])
            assert found[i, j] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_inducing_vertices_predict_with_their_own_covariance(missing):
    c = case(missing=missing)
    inducing = np.array([1, 3, 4, 7])
    found = condition_on_inducing(c.covariances(inducing), c.data)
    smooth = c.covariance(noise=False)
    nugget = float(c.model.variance) * c.model.nugget(c.vertices)
    smooth -= np.diag(nugget)
    # One inducing vertex is isolated, which leaves it no covariance to share.
    Q = smooth[:, inducing] @ np.linalg.pinv(smooth[np.ix_(inducing, inducing)], rcond=1e-10) @ smooth[inducing]
    C = Q + np.diag(nugget + float(c.model.noise_variance))
    for j, (h, p) in enumerate(zip(c.data.values.T, c.data.pattern_of, strict=True)):
        for i in range(len(h)):
            rest = c.data.patterns[p] & (np.arange(len(h)) != i)
            expected = C[i, rest] @ np.linalg.solve(C[np.ix_(rest, rest)], h[rest])
            assert found.left_out[i, j] == pytest.approx(expected, abs=1e-5)
