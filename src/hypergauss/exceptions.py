"""Numerical failures, each naming its likely causes.

Bad input never reaches these: it is a `ValueError` or a `TypeError`, raised before any heavy work.
"""


class HypergaussError(Exception):
    """Base of the failures that hypergauss itself raises."""


class NumericalError(HypergaussError):
    """A computation on valid input did not succeed; the message lists likely causes."""


class LearningWarning(UserWarning):
    """Hyperparameters were learned, but something about the result deserves a look."""


class SamplingWarning(UserWarning):
    """Draws were returned, but fewer than were asked for."""


class UnseenWarning(UserWarning):
    """A prediction was asked for of something of which nothing was known: it is the prior's."""
