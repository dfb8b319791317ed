"""The options of the service."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

from theanine.client.options import OpenOptions


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of the service.

    Args:
        client: the store, the method and the models, as for :func:`theanine.aopen`.
        dev: whether requests need no key; then only loopback may ask.
        max_body: bytes of a request's body, except of an import.
        max_import: bytes of a file to import.
        max_requests: requests that one process serves at once; others get 429 at once.
        max_proxied: requests to providers that one process passes on at once.
        max_proxied_body: bytes of the body of one.
        request_timeout: seconds after which a request that is not a stream is answered with 503.
        openai_url: base URL of the OpenAI-compatible API behind the proxy.
        anthropic_url: base URL of Anthropic's API behind the proxy.
        memory_deadline: seconds that memory may add to a request of the proxy.
    """

    client: OpenOptions = field(default_factory=OpenOptions)
    _: KW_ONLY
    dev: bool = False
    max_body: int = 4_000_000
    max_import: int = 1_000_000_000
    max_requests: int = 64
    max_proxied: int = 256
    max_proxied_body: int = 64_000_000
    request_timeout: float = 60.0
    openai_url: str = "https://api.openai.com/v1"
    anthropic_url: str = "https://api.anthropic.com/v1"
    memory_deadline: float = 0.5
