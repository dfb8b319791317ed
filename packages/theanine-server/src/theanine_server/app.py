"""The ASGI application."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from os import PathLike, fspath

import anyio
from fastapi import Depends, FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from theanine.client import AsyncClient
from theanine.errors import MissingExtra, SettingsError
from theanine.store import open_store
from theanine.store.sql.audit import load_pseudonyms
from theanine.store.sql.store import SqlStore
from theanine.telemetry import add_listener, remove_listener
from theanine_server.comparing import keep_removing_outdated_runs
from theanine_server.document import SERVERS, complete_document, name_operation
from theanine_server.header_values import TrimHeaderValues
from theanine_server.idempotency import ClaimMiddleware, add_replays
from theanine_server.limits import MCP_PATH, LimitMiddleware, Slots
from theanine_server.logs import use_pseudonyms
from theanine_server.metrics import record_operation
from theanine_server.names import KeepNames
from theanine_server.observe import ObserveMiddleware
from theanine_server.parameters import check_parameters
from theanine_server.problems import add_problem_handlers
from theanine_server.provider_paths import ProviderPaths
from theanine_server.routes import ROUTERS, proxy, service
from theanine_server.settings import ServerOptions
from theanine_server.state import ServerState
from theanine_server.stopping import announced_stop

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

    mcp = _WithoutMcp()
    if find_spec("mcp"):
        from theanine_server.mcp.endpoint import McpEndpoint

        mcp = McpEndpoint(options)

    # In the background, a worker remembers: requests leave no tasks behind that could pile up.
    when = "now" if options.client.remembering == "now" else "later"

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncClient(replace(options.client, location=store, remembering=when)) as client:
            pseudonyms = await store.write(load_pseudonyms)
            use_pseudonyms(pseudonyms)
            app.state.server = state = ServerState(options, client, store, pseudonyms)
            add_listener(record_operation)
            async with mcp.run(), anyio.create_task_group() as group:
                tasks = [state.claims.run, state.operations.run, state.remember, state.audit.run]
                if not options.only_mcp:
                    outdated = partial(keep_removing_outdated_runs, store, state.stopped)
                    tasks += [state.deliverer.run, outdated]
                for task in tasks:
                    group.start_soon(task)
                with announced_stop(state.stop, options.drain):
                    yield
                await state.close()
            remove_listener(record_operation)
            with anyio.move_on_after(options.grace):
                await client.close()

    app = FastAPI(
        title="theanine",
        version=version("theanine"),
        description=DESCRIPTION,
        lifespan=lifespan,
        dependencies=[Depends(check_parameters)],
        servers=SERVERS,
        generate_unique_id_function=name_operation,
        # Both pages would load scripts from another host.
        docs_url=None,
        redoc_url=None,
        # The framework sets OpenTelemetry up if the environment names a collector. Its own spans
        # would have paths and queries in them: ObserveMiddleware makes others.
        telemetry={"auto_configure": True, "logs": False, "exclude": lambda scope: True},
    )
    add_problem_handlers(app)
    add_replays(app)
    routers = (service.router,) if options.only_mcp else ROUTERS
    for router in routers:
        app.include_router(router)
    app.router.routes.append(proxy.PassOnRoute())
    app.router.routes.append(Route(MCP_PATH, mcp, include_in_schema=False))
    app.state.mcp, app.state.slots = mcp, Slots.of(options)
    complete_document(app)
    app.add_middleware(KeepNames)
    app.add_middleware(ClaimMiddleware)
    app.add_middleware(
        LimitMiddleware,
        options=options,
        slots=app.state.slots,
        providers=None if options.only_mcp else _provider_paths(),
    )
    if options.link is not None:
        # By any other name, a page of another site reaches this machine after rebinding its own.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    app.add_middleware(ObserveMiddleware)
    app.add_middleware(TrimHeaderValues)
    return app


def _provider_paths() -> ProviderPaths:
    own = {
        _path(route) for router in ROUTERS if router is not proxy.router for route in router.routes
    }
    return ProviderPaths(own=own, with_memory={*map(_path, proxy.router.routes)})


def _path(route: BaseRoute) -> str:
    return str(getattr(route, "path", ""))


class _WithoutMcp:
    """Replaces the MCP endpoint where the extra ``mcp`` isn't installed."""

    def run(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise MissingExtra("mcp", "MCP")
