"""The routes of the service, one module a subject."""

from __future__ import annotations

from theanine.server.routes import (
    keys,
    operations,
    proxy,
    recall,
    records,
    replies,
    service,
    threads,
    transfer,
    users,
)

ROUTERS = (
    service.router,
    keys.router,
    users.router,
    threads.router,
    recall.router,
    records.router,
    replies.router,
    transfer.router,
    operations.router,
    proxy.router,
)
