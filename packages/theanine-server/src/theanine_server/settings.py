"""The options of the service."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta

from theanine.client.options import OpenOptions
from theanine_server.webhooks.guard import Guard


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of the service.

    Args:
        client: the store, the method and the models, as for :func:`theanine.aopen`.
        dev: whether requests need no key; then only loopback may ask.
        link: secret of a one-time link that signs a browser in as the store's owner; then only
            loopback may ask, by its own name. None for a service with keys.
        max_body: bytes of a request's body, except of an import.
        max_import: bytes of a file to import.
        body_timeout: seconds that a request's body may take to come, and one more for each 10,000
            bytes of it; then the answer is 408.
        max_requests: requests that one process serves at once; others get 429 at once. Of these and
            the other numbers, one tenant may have half, a key of one user or agent an eighth.
        max_imports: imports that one process takes at once.
        max_sign_ins: browsers that one process signs in at once.
        max_streams: streams of changes that one process serves at once.
        max_proxied: requests to providers that one process passes on at once.
        max_proxied_body: bytes of the body of one.
        recall_deadline: seconds within which a recall answers, by doing less if need be; a request
            may name its own.
        request_timeout: seconds after which a request that is not a stream is answered with 503.
        openai_url: base URL of the OpenAI-compatible API behind the proxy.
        anthropic_url: base URL of Anthropic's API behind the proxy.
        require_user: whether the proxy refuses a request that names no user; else it has no memory.
        memory_deadline: seconds that memory may add to a request of the proxy.
        max_mcp: requests of MCP that one process serves at once; a client may hold one open.
        mcp_sessions: whether MCP clients of revisions before 2026-07-28 have sessions, which are of
            one process; without them, any process answers any request, but none can ask back.
        only_mcp: whether to leave out all routes but those of MCP, health and readiness.
        audit: how long entries of the audit log are kept; None for no audit log.
        webhook_guard: decides to which addresses webhooks may lead.
        max_replies: replies a day (UTC) that the service's own models or keys of providers may give
            to one tenant; None for any number.
        drain: seconds that the process goes on taking requests after SIGTERM, not ready any more.
        grace: seconds that remembering in the background gets to end when the service stops; what
            is left, another process or the next one goes on with.
    """

    client: OpenOptions = field(default_factory=OpenOptions)
    _: KW_ONLY
    dev: bool = False
    link: str | None = field(default=None, repr=False)
    max_body: int = 4_000_000
    max_import: int = 1_000_000_000
    body_timeout: float = 10.0
    max_requests: int = 128
    max_imports: int = 16
    max_sign_ins: int = 8
    max_streams: int = 512
    max_proxied: int = 512
    max_proxied_body: int = 64_000_000
    recall_deadline: float = 10.0
    request_timeout: float = 60.0
    openai_url: str = "https://api.openai.com/v1"
    anthropic_url: str = "https://api.anthropic.com/v1"
    require_user: bool = False
    memory_deadline: float = 0.5
    max_mcp: int = 512
    mcp_sessions: bool = True
    only_mcp: bool = False
    audit: timedelta | None = timedelta(days=30)
    webhook_guard: Guard = field(default_factory=Guard)
    max_replies: int | None = None
    drain: float = 0.0
    grace: float = 10.0
