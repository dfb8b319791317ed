"""The contract of a method, as tests that you can run on your own method.

::

    from theanine.testing.contract import MethodContract

    class TestMine(MethodContract):
        name = "mine"

Needs pytest. Tests that call a model are skipped without the extra ``theanine[models]``. See
``docs/own-method.md``.
"""

import pytest

pytest.register_assert_rewrite("theanine.testing.contract.suite")

from theanine.testing.contract.suite import MethodContract  # noqa: E402

__all__ = ["MethodContract"]
