"""A kernel inside GPyTorch (extra ``gpytorch``)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from hypergauss import _checks
from hypergauss.kernels import Kernel


def to_gpytorch(kernel: Kernel) -> Any:
    """Return the kernel as a `gpytorch.kernels.Kernel` at its current hyperparameters, low-rank where it is.

    Inputs are one column of vertex numbers. K = R R' + diag(remainder) goes to GPyTorch as a low-rank root and a
    diagonal, so that its solvers cost O(n r^2). The hyperparameters stay as they are, since PyTorch cannot
    differentiate JAX's programs: learn them here. A `gpytorch.kernels.ScaleKernel` around it learns an amplitude there.

    Parameters
    ----------
    kernel : Kernel
        With features (``kernel.rank`` is not None), and no negative weights: a filter that does not rise.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"`kernel` must be a kernel of hypergauss. Got {type(kernel).__name__}.")
    if kernel.rank is None:
        raise ValueError(
            f"GPyTorch gets kernels as low-rank roots. {type(kernel).__name__} has no low-rank structure. "
            "Add the other part in GPyTorch."
        )
    inputs = kernel.inputs(np.arange(kernel.num_vertices))
    weights = np.asarray(kernel.weights())
    if (weights < -1e-12 * np.abs(weights).max(initial=0.0)).any():
        raise ValueError("A filter that rises has no real root. Use a decreasing one, such as Matern or Diffusion.")
    root = np.asarray(kernel.features(inputs)) * np.sqrt(np.maximum(weights, 0.0))
    remainder = np.broadcast_to(np.asarray(kernel.remainder(inputs)), kernel.num_vertices)
    return _kernel_class()(root, remainder)


@cache
def _kernel_class() -> Any:
    torch: Any = _checks.optional("torch", "gpytorch")
    gpytorch: Any = _checks.optional("gpytorch", "gpytorch")
    operators: Any = _checks.optional("linear_operator.operators", "gpytorch")

    class HypergraphKernel(gpytorch.kernels.Kernel):
        """A kernel of hypergauss, seen from GPyTorch."""

        has_lengthscale = False

        def __init__(self, root: np.ndarray, remainder: np.ndarray) -> None:
            super().__init__()
            self.register_buffer("root", torch.tensor(root))
            self.register_buffer("remainder", torch.tensor(np.array(remainder)))

        def forward(self, x1: Any, x2: Any, diag: bool = False, **_: Any) -> Any:
            left, right = (self._vertices(x) for x in (x1, x2))
            if diag:
                own = (self.root[left] * self.root[right]).sum(-1)
                return own + torch.where(left == right, self.remainder[left], 0.0)
            if left.ndim == 1 and torch.equal(left, right) and len(torch.unique(left)) == len(left):
                low_rank = operators.LowRankRootLinearOperator(self.root[left])
                return low_rank.add_diagonal(self.remainder[left])
            same = left.unsqueeze(-1) == right.unsqueeze(-2)
            shared = torch.where(same, self.remainder[left].unsqueeze(-1), 0.0)
            return self.root[left] @ self.root[right].transpose(-1, -2) + shared

        def _vertices(self, x: Any) -> Any:
            number = x[..., 0].long()
            if number.numel() and (int(number.min()) < 0 or int(number.max()) >= len(self.root)):
                raise ValueError(f"Inputs must be vertex numbers in 0..{len(self.root) - 1}. Got {int(number.max())}.")
            return number

    return HypergraphKernel
