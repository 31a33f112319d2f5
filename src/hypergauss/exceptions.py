"""Failures of our own, each naming its likely causes.

Bad arguments never reach these: they are a `ValueError` or a `TypeError`, raised before any heavy work.
"""


class HypergaussError(Exception):
    """Base of the failures that hypergauss itself raises."""


class NumericalError(HypergaussError):
    """A computation on valid input did not succeed; the message lists likely causes."""


class ConvergenceError(NumericalError):
    """An iteration ended before its residual met the tolerance; the message has the residual and likely causes."""


class InsufficientMemoryError(HypergaussError, MemoryError):
    """What was asked for will not fit in memory; the message has the figure and an alternative."""


class ClusterError(HypergaussError):
    """A cluster did not do its work or has gone away; the message has likely causes and what to do."""


class FileError(HypergaussError, ValueError):
    """A file does not hold what it should; the message says what it is, where, and what to do."""


class DataWarning(UserWarning):
    """What was given can be used, but part of it says nothing to the model, or looks mistaken."""


class LearningWarning(UserWarning):
    """Hyperparameters were learned, but something about the result deserves a look."""


class SamplingWarning(UserWarning):
    """Draws were returned, but fewer than were asked for, or of chains that disagree."""


class UnseenWarning(UserWarning):
    """A prediction was asked for of something of which nothing was known: it is the prior's."""
