"""The runtime of the encoder keeps and sends no events of its use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from theanine.embeddings.encoder import has_runtime

RECALL = """
    import sys
    import theanine
    with theanine.open(sys.argv[1]) as client:
        ana = client.user("ana")
        ana.add("I keep a red boat in Faro.")
        print(ana.recall("Where is the boat?"))
"""


LINKS = """
    import os
    from theanine.linking.model import Statement, link_logits
    link_logits([(Statement("I live in Split."), Statement("I moved to Zagreb."), 3.0)])
    print(os.environ.get("ORT_DISABLE_TELEMETRY"))
"""
"""A model that may be the first to load the runtime."""


@pytest.mark.slow
@pytest.mark.skipif(not has_runtime(), reason="onnxruntime is not installed")
def test_any_model_keeps_the_runtime_quiet() -> None:
    environment = {**os.environ}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    ran = subprocess.run(
        [sys.executable, "-c", dedent(LINKS)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout == "1\n"


@pytest.mark.slow
@pytest.mark.skipif(not has_runtime(), reason="onnxruntime is not installed")
def test_a_recall_leaves_nothing_outside_its_store(tmp_path: Path) -> None:
    home, store = tmp_path / "home", tmp_path / "store"
    home.mkdir()
    store.mkdir()
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    ran = subprocess.run(
        [sys.executable, "-c", dedent(RECALL), str(store / "memory.db")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Faro" in ran.stdout
    assert [path.relative_to(home) for path in home.rglob("*")] == []
