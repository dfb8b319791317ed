"""The routes of the service, one module a subject."""

from __future__ import annotations

from theanine.server.routes import keys, recall, records, service, threads, users

ROUTERS = (
    service.router,
    keys.router,
    users.router,
    threads.router,
    recall.router,
    records.router,
)
