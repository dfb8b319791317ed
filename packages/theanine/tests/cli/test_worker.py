"""A worker where the service isn't installed."""

from __future__ import annotations

import pytest

import theanine
from support.hiding import hide_packages
from support.running import Terminal


@pytest.fixture
def alone(run: Terminal, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """The command line without the service, on a store in which a session waits."""
    with theanine.open(run.store, remembering="later") as client:
        with client.user("ana").session() as session:
            session.hear("I keep bees on the roof.")
        assert client.pending()
    hide_packages(monkeypatch, "theanine-server")
    return run


def test_it_remembers(alone: Terminal) -> None:
    assert alone("worker", "--once").out.startswith("remembered user=ana session=1 ")
    assert "bees" in alone("memories", "--user", "ana").out


@pytest.mark.parametrize(
    ("options", "what"),
    [(["--metrics-port", "0"], "metrics"), (["--webhook-allow", "10.0.0.0/8"], "webhooks")],
)
def test_it_says_what_the_service_brings(alone: Terminal, options: list[str], what: str) -> None:
    ran = alone("worker", "--once", *options, fine=False)
    assert ran.code == 2
    assert ran.err == (
        f"theanine: {what} needs an optional part: pip install 'theanine[server]' "
        "(in a checkout: packages/theanine-server 'packages/theanine[server]')\n"
    )
