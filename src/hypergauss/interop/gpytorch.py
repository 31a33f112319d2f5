"""A kernel inside GPyTorch (extra ``gpytorch``)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergauss import _checks, parameters
from hypergauss.interop.gathering import Arrays, GatheredKernel
from hypergauss.kernels import Kernel

if TYPE_CHECKING:
    import gpytorch
    from linear_operator.operators import LinearOperator
    from torch import Tensor

#: Weights below this share of the largest count as zero: their root has no slope that arithmetic can hold.
_NOTHING = 1e-14


def to_gpytorch(kernel: Kernel) -> gpytorch.kernels.Kernel:
    """Return the kernel as a `gpytorch.kernels.Kernel`, low-rank where it is, its hyperparameters to be learned there.

    Inputs are one column of vertex numbers. K = R R' + diag(remainder) goes to GPyTorch as a low-rank root and a
    diagonal, so that its solvers cost O(n r^2). Its one parameter, ``theta``, holds our free hyperparameters in the
    coordinates that learning moves (logarithms of positive ones); root and remainder are computed from it here, and
    their exact derivatives handed over to PyTorch. ``.hypergauss()`` gives our kernel back, with what was learned.

    Parameters
    ----------
    kernel : Kernel
        With features (``kernel.rank`` is not None), and no negative weights: a filter that does not rise.
        Hyperparameters that it names in ``fixed`` stay as they are.
    """
    gathered = GatheredKernel(kernel)
    if kernel.rank is None:
        raise ValueError(
            f"GPyTorch gets kernels as low-rank roots. {type(kernel).__name__} has no low-rank structure. "
            "Add the other part in GPyTorch."
        )
    if kernel.features_move:
        raise ValueError(
            f"GPyTorch gets kernels as roots whose features stay. Those of {type(kernel).__name__} move with its "
            "hyperparameters. Use the filter itself, such as `Matern(Spectrum.of(H))`."
        )
    weights = kernel.structure(kernel.inputs(np.arange(kernel.num_vertices))).weights
    if (weights < -1e-12 * np.abs(weights).max(initial=0.0)).any():
        raise ValueError("A filter that rises has no real root. Use a decreasing one, such as Matern or Diffusion.")
    return _kernel_class()(_Parts(gathered))


class _Parts:
    """The root's scales (r,) and the remainder (N,) as functions of the coordinates, and their derivatives."""

    def __init__(self, gathered: GatheredKernel) -> None:
        self.gathered = gathered
        self.features = gathered.features()

    def values(self, theta: np.ndarray) -> Arrays:
        """Return both."""
        weights, remainder = self.gathered.structure(self.gathered.at(theta))
        return np.sqrt(np.where(_is_telling(weights), weights, 0.0)), remainder

    def pull_back(self, theta: np.ndarray, gradients: Arrays) -> np.ndarray:
        """Return the gradient in theta, shape (p,), of a number with the given slopes in both."""
        roots, _ = self.values(theta)
        in_weights = np.where(roots > 0, gradients[0] / (2 * np.where(roots > 0, roots, 1.0)), 0.0)
        of_weights, of_remainder = self.gathered.tangents(theta, self.gathered.structure)
        return of_weights @ in_weights + of_remainder @ gradients[1]


def _is_telling(weights: np.ndarray) -> np.ndarray:
    return weights > _NOTHING * np.abs(weights).max(initial=0.0)


@cache
def _kernel_class() -> Any:
    torch: Any = _checks.optional("torch", "gpytorch")
    gpytorch: Any = _checks.optional("gpytorch", "gpytorch")
    operators: Any = _checks.optional("linear_operator.operators", "gpytorch")

    class RootAndRemainder(torch.autograd.Function):
        """Root scales and remainder from the coordinates, with derivatives from here."""

        @staticmethod
        def forward(context: Any, theta: Tensor, parts: _Parts) -> tuple[Tensor, Tensor]:
            context.parts = parts
            context.save_for_backward(theta)
            return tuple(_as_torch(value, theta) for value in parts.values(_as_numpy(theta)))

        @staticmethod
        def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
            (theta,) = context.saved_tensors
            pulled = context.parts.pull_back(_as_numpy(theta), tuple(_as_numpy(part) for part in gradients))
            return _as_torch(pulled, theta), None

    def _as_numpy(tensor: Tensor) -> np.ndarray:
        return tensor.detach().cpu().double().numpy()

    def _as_torch(array: np.ndarray, like: Tensor) -> Tensor:
        return torch.tensor(np.asarray(array), dtype=like.dtype, device=like.device)

    class HypergraphKernel(gpytorch.kernels.Kernel):
        """A kernel of hypergauss, seen from GPyTorch."""

        has_lengthscale = False

        def __init__(self, parts: _Parts) -> None:
            super().__init__()
            self.parts = parts
            self.register_parameter("theta", torch.nn.Parameter(torch.tensor(parameters.pack(parts.gathered.kernel))))
            self.register_buffer("features", torch.tensor(parts.features))

        def hypergauss(self) -> Kernel:
            """Return our kernel at the coordinates as they are now."""
            return self.parts.gathered.at(_as_numpy(self.theta))

        def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: object) -> Tensor | LinearOperator:
            left, right = (self._vertices(x) for x in (x1, x2))
            scales, remainder = RootAndRemainder.apply(self.theta, self.parts)
            root_left = self.features[left] * scales
            if diag:
                own = (root_left * self.features[right] * scales).sum(-1)
                return own + torch.where(left == right, remainder[left], 0.0)
            if left.ndim == 1 and torch.equal(left, right) and len(torch.unique(left)) == len(left):
                return operators.LowRankRootLinearOperator(root_left).add_diagonal(remainder[left])
            same = left.unsqueeze(-1) == right.unsqueeze(-2)
            shared = torch.where(same, remainder[left].unsqueeze(-1), 0.0)
            return root_left @ (self.features[right] * scales).transpose(-1, -2) + shared

        def _vertices(self, x: Tensor) -> Tensor:
            number = x[..., 0].long()
            last = len(self.features) - 1
            if number.numel() and (int(number.min()) < 0 or int(number.max()) > last):
                raise ValueError(f"Inputs must be vertex numbers in 0..{last}. Got {int(number.max())}.")
            return number

    return HypergraphKernel
