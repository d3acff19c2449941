"""The tables of the engine's toy aggregate, as the other tests of the engine have them."""

from tests.engine.conftest import toy_pool

__all__ = ["toy_pool"]
