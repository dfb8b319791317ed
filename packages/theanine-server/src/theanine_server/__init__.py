"""The service: memory over HTTP, for applications in any language.

::

    request ─► middleware (limits, errors) ─► access (key → principal) ─► routes ─► client

``create_app(ServerOptions(…))`` returns the ASGI application; ``theanine serve`` runs it. Beside
it are what the service offers otherwise: ``mcp``, ``webhooks``, and the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine_server.app import create_app
    from theanine_server.settings import ServerOptions

__all__ = ["ServerOptions", "create_app"]

# The commands for keys, and MCP over pipes, need no framework of HTTP.
__getattr__ = lazy_exports(__name__, {"app": "create_app", "settings": "ServerOptions"})
