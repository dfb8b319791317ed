"""Run a scripted server by itself: ``python -m theanine.testing --port 8099 --latency 0.2``.

A prompt that is none of theanine's own is answered with the words that it ends with, so that one
sees what the model was sent.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from threading import Event
from typing import Any

from theanine.testing.answers import UNKNOWN, answer
from theanine.testing.server import ScriptedServer


def main() -> None:
    """Serve until interrupted; the base URL is the first line of the output."""
    parser = argparse.ArgumentParser(prog="python -m theanine.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds for each chat answer")
    options = parser.parse_args()
    with ScriptedServer(_answer, port=options.port, latency=options.latency) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        try:
            Event().wait()
        except KeyboardInterrupt:
            sys.stdout.write(f"{len(server.calls)} chat calls\n")


def _answer(request: Mapping[str, Any]) -> str:
    if (known := answer(request)) != UNKNOWN:
        return known
    content = request["messages"][-1]["content"]
    parts = [{"text": content}] if isinstance(content, str) else content or ()
    return "\n\n".join(part["text"] for part in parts if "text" in part)


if __name__ == "__main__":
    main()
