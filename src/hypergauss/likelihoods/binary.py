"""Two classes, one latent function."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from hypergauss import _checks
from hypergauss.likelihoods.base import Classification, OneLatent
from hypergauss.likelihoods.quadrature import expectation


class Bernoulli(OneLatent, Classification):
    """p(y = 1 | f) = link(f), with the logistic function ("logit") or the normal distribution function ("probit")."""

    link: str = eqx.field(static=True, default="logit")
    num_classes: int = eqx.field(static=True, default=2, init=False)

    def __check_init__(self) -> None:
        _checks.one_of("link", self.link, ("logit", "probit"))

    @property
    def is_log_concave(self) -> bool:  # noqa: D102
        return True

    def pointwise(self, latent: Float[Array, "n ..."], y: Float[Array, "n ..."]) -> Float[Array, "n ..."]:  # noqa: D102
        signed = (2 * y - 1) * latent
        return jax.nn.log_sigmoid(signed) if self.link == "logit" else norm.logcdf(signed)

    def probabilities(self, mean: Float[Array, "n 1"], variance: Float[Array, "n 1"]) -> Float[Array, "n 2"]:  # noqa: D102
        if self.link == "probit":
            one = norm.cdf(mean[:, 0] / jnp.sqrt(1 + variance[:, 0]))
        else:
            one = expectation(jax.nn.sigmoid, mean[:, 0], variance[:, 0])
        return jnp.stack([1 - one, one], axis=1)
