"""The routes of the service, one module a subject."""

from __future__ import annotations

from theanine_server.routes import (
    audit,
    conversations,
    evaluation,
    events,
    forgetting,
    graph,
    keys,
    operations,
    page,
    proxy,
    recall,
    records,
    replies,
    review,
    service,
    sign_in,
    tenant,
    threads,
    transfer,
    usage,
    users,
    webhooks,
)

# Those first that get most requests: each path is tried in turn.
ROUTERS = (
    proxy.router,
    threads.router,
    recall.router,
    service.router,
    sign_in.router,
    keys.router,
    tenant.router,
    users.router,
    records.router,
    conversations.router,
    graph.router,
    forgetting.router,
    review.router,
    replies.router,
    events.router,
    transfer.router,
    operations.router,
    webhooks.router,
    audit.router,
    usage.router,
    evaluation.router,
    page.router,
)
