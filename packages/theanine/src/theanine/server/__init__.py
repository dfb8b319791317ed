"""The service: memory over HTTP, for applications in any language.

::

    request ─► middleware (limits, errors) ─► access (key → principal) ─► routes ─► client

``create_app(ServerOptions(…))`` returns the ASGI application; ``theanine serve`` runs it.
"""

from __future__ import annotations

from theanine.server.app import create_app
from theanine.server.settings import ServerOptions

__all__ = ["ServerOptions", "create_app"]
