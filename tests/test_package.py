"""The package offers what it lists, and imports it only when asked."""

import pytest

import hypergauss


@pytest.mark.parametrize("name", hypergauss.__all__)
def test_every_public_name_is_there(name):
    assert getattr(hypergauss, name) is not None
    assert name in dir(hypergauss)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Hypergaph'"):
        _ = hypergauss.Hypergaph
