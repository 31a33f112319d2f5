"""Kernelised matrix factorisation: ratings explained by factors whose priors live on one hypergraph and its dual."""

from hypergauss.factorisation.kpmf import KPMF

__all__ = ["KPMF"]
