"""The methods of this package pass the contract that theanine publishes, and are found by id."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from theanine.methods.registry import EXTRA_METHODS, method_class, names
from theanine.testing.contract import MethodContract

INNER_LOOP = ("exchange",)
"""Methods that `make test-fast` tests; the others have tests of their own there."""
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


class TestOurMethods(MethodContract):
    """The published suite, for every method of this package."""

    @pytest.fixture(
        params=[
            pytest.param(name, marks=[] if name in INNER_LOOP else pytest.mark.slow)
            for name in EXTRA_METHODS
        ]
    )
    def method(self, request: pytest.FixtureRequest) -> str:
        """The id of each method of this package."""
        return str(request.param)


def test_theanine_knows_the_methods_that_this_package_registers() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    assert (*project["entry-points"]["theanine.methods"],) == EXTRA_METHODS


def test_each_is_installed_under_its_own_id() -> None:
    assert set(EXTRA_METHODS) <= set(names())
    assert [method_class(name).name for name in EXTRA_METHODS] == [*EXTRA_METHODS]
