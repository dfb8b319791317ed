"""The built-in methods pass the contract that theanine publishes."""

from __future__ import annotations

import pytest

from theanine.methods.registry import METHODS
from theanine.testing.contract import MethodContract

INNER_LOOP = ("exchange",)
"""Methods that `make test-fast` tests; the others have tests of their own there."""


class TestOurMethods(MethodContract):
    """The published suite, for every built-in method."""

    @pytest.fixture(
        params=[
            pytest.param(name, marks=[] if name in INNER_LOOP else pytest.mark.slow)
            for name in METHODS
        ]
    )
    def method(self, request: pytest.FixtureRequest) -> str:
        """The id of each built-in method."""
        return str(request.param)
