"""The ASGI application."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from os import PathLike, fspath

import anyio
from fastapi import FastAPI

from theanine.client import AsyncClient
from theanine.errors import SettingsError
from theanine.server.limits import LimitMiddleware
from theanine.server.problems import Problem, add_problem_handlers
from theanine.server.routes import ROUTERS, proxy
from theanine.server.settings import ServerOptions
from theanine.server.state import ServerState
from theanine.store import open_store
from theanine.store.sql.store import SqlStore

DESCRIPTION = """Lifelong memory for conversational agents: log what is said, recall what matters, \
with its sources.

Errors are problem details (RFC 9457). Lists come in pages: pass `next` as `cursor`."""


def create_app(options: ServerOptions) -> FastAPI:
    """Return the service as an ASGI application; its store is opened when it starts.

    Raises SettingsError for a store that is in no SQL database.
    """
    location = options.client.location
    store = open_store(fspath(location)) if isinstance(location, str | PathLike) else location
    if not isinstance(store, SqlStore):
        raise SettingsError("the service needs a store in a file or in PostgreSQL")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncClient(replace(options.client, location=store)) as client:
            app.state.server = state = ServerState(options, client, store)
            async with anyio.create_task_group() as group:
                group.start_soon(state.operations.run)
                yield
                await state.close()
                group.cancel_scope.cancel()

    app = FastAPI(
        title="theanine",
        version=version("theanine"),
        description=DESCRIPTION,
        lifespan=lifespan,
        # Both pages would load scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    add_problem_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    _describe_problems(app)
    app.add_middleware(
        LimitMiddleware,
        options=options,
        proxied={str(getattr(route, "path", "")) for route in proxy.router.routes},
    )
    return app


def _describe_problems(app: FastAPI) -> None:
    """Add the shape of problems to the OpenAPI document, which the routes refer to."""
    generate = app.openapi

    def openapi() -> dict[str, object]:
        document = generate()
        schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= schema.pop("$defs", {}) | {"Problem": schema}
        return document

    app.openapi = openapi
