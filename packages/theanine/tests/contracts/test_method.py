"""The built-in methods pass the contract that theanine publishes."""

from __future__ import annotations

import pytest

from theanine.methods.registry import METHODS
from theanine.testing.contract import MethodContract

pytestmark = pytest.mark.slow  # these methods have tests of their own in `make test-fast`


class TestOurMethods(MethodContract):
    """The published suite, for every built-in method."""

    @pytest.fixture(params=METHODS)
    def method(self, request: pytest.FixtureRequest) -> str:
        """The id of each built-in method."""
        return str(request.param)
