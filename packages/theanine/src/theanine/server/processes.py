"""Serve from several processes that share one port."""

from __future__ import annotations

from uvicorn.supervisors import Multiprocess


class Processes(Multiprocess):
    """Starts processes, and replaces those that end, until it is stopped."""

    def terminate_all(self) -> None:
        """End all processes, and close the port so that no connection waits unserved."""
        super().terminate_all()
        for listener in self.sockets:
            listener.close()
