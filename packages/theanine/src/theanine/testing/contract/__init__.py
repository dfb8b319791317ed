"""The contract of a method, as tests to run on your own.

::

    from theanine.testing.contract import MethodContract

    class TestMine(MethodContract):
        name = "mine"

Needs pytest; what a model is asked in it needs the extra ``theanine[models]``, and is skipped
without it. See ``docs/own-method.md``.
"""

import pytest

pytest.register_assert_rewrite("theanine.testing.contract.suite")

from theanine.testing.contract.suite import MethodContract  # noqa: E402

__all__ = ["MethodContract"]
