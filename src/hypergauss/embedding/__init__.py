"""Maps of the vertices: the hypergraph's Gaussian process latent variable model, and Zhou's spectral embedding."""

from hypergauss.embedding.gplvm import HypergraphGPLVM
from hypergauss.embedding.spectral_embedding import SpectralEmbedding

__all__ = ["HypergraphGPLVM", "SpectralEmbedding"]
