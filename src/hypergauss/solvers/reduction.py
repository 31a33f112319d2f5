r"""E = (K + A^-1)^-1 for several diagonal A at once: what sites that couple latents are conditioned on by.

With R = A^1/2, E = R (I + R K R)^-1 R, and nothing divides by A.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from hypergauss.exceptions import NumericalError


class Reduction:
    """Makes E from K, the prior covariance of the sites, shape (n, n)."""

    def __init__(self, K: np.ndarray) -> None:
        self.K = K

    def into(self, E: np.ndarray, precision: np.ndarray, room: np.ndarray) -> float:
        """Write (K + A^-1)^-1 for each A into E, and return the sum of all log det(I + A K).

        Parameters
        ----------
        E, room : arrays, shape (C, n, n)
            What is overwritten: with the result, and with whatever is needed for it.
        precision : array, shape (C, n)
            The diagonals of A, none negative.
        """
        root, diagonal = np.sqrt(precision), np.arange(len(self.K))
        np.multiply(root[:, :, None], root[:, None, :], out=room)
        np.multiply(room, self.K, out=E)
        E[:, diagonal, diagonal] += 1.0
        for B in E:
            lower_factor(B)
        log_dets = 2 * float(np.log(E[:, diagonal, diagonal]).sum())
        for B in E:
            dpotri(B.T, lower=1, overwrite_c=1)
        E += E.transpose(0, 2, 1)  # one triangle was zero
        E[:, diagonal, diagonal] /= 2
        E *= room
        return log_dets


def lower_factor(A: np.ndarray) -> np.ndarray:
    """Return Cholesky's lower factor of a symmetric matrix of contiguous rows, in the place of its transpose.

    A matrix and its transpose are one: LAPACK works in place on the latter, whose columns are contiguous.
    """
    factor, info = dpotrf(A.T, lower=1, overwrite_a=1)
    if info != 0:
        raise NumericalError(
            "The system of the latents and their sites is singular. Likely cause: a variance at the edge of its range."
        )
    return factor
