"""Our own methods keep to the contract that we give to everybody."""

from __future__ import annotations

import pytest

from theanine.methods.registry import METHODS
from theanine.testing.contract import MethodContract


class TestOurMethods(MethodContract):
    """The exported suite over every method; one more is one more parameter."""

    @pytest.fixture(params=METHODS)
    def method(self, request: pytest.FixtureRequest) -> str:
        """One after the other."""
        return str(request.param)
