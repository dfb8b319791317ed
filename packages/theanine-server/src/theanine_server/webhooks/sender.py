"""Sending one message: signed by the Standard Webhooks scheme, to an address that was checked."""

from __future__ import annotations

from importlib.metadata import version
from ipaddress import IPv6Address

import anyio
import httpx2
from standardwebhooks import Webhook as Signer

from theanine.clock import system_clock
from theanine.retrying import read_retry_after
from theanine.store.sql.outbox import MAX_PAUSE, HeldWebhook, Message, Outcome
from theanine_server.webhooks.guard import Address, ForbiddenAddress, Guard, parse_url

TIMEOUT = 10.0
"""Seconds that one try may take in all."""
MAX_ANSWER = 65_536
"""Maximum bytes that are read of an answer, so that the connection can be used again."""
_AGENT = f"theanine/{version('theanine')}"


class Sender:
    """Sends messages, each over a connection to an address that the guard lets pass."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._tls = httpx2.create_ssl_context()

    def connect(self) -> httpx2.AsyncClient:
        """Return an HTTP client for the messages to one webhook.

        It takes no proxy from the environment, which would resolve the name by itself.
        """
        return httpx2.AsyncClient(verify=self._tls, trust_env=False, timeout=None)

    async def send(self, http: httpx2.AsyncClient, held: HeldWebhook, message: Message) -> Outcome:
        """Send a message once and return the outcome."""
        try:
            with anyio.fail_after(TIMEOUT):
                url = parse_url(held.url)
                addresses = await self._guard.resolve(url)
                return await self._post(http, url, addresses, held, message)
        except TimeoutError:
            return Outcome(message=message, error=f"no answer within {TIMEOUT:g} s")
        except ForbiddenAddress as error:
            return Outcome(message=message, error=str(error))
        except httpx2.ConnectError:
            return Outcome(message=message, error="no connection")
        except httpx2.HTTPError as error:
            return Outcome(message=message, error=f"no answer: {type(error).__name__}")

    async def _post(
        self,
        http: httpx2.AsyncClient,
        url: httpx2.URL,
        addresses: list[Address],
        held: HeldWebhook,
        message: Message,
    ) -> Outcome:
        headers = {
            **sign(held, message),
            "Host": url.netloc.decode("ascii"),
            "Content-Type": "application/json",
            "User-Agent": _AGENT,
        }
        for position, address in enumerate(addresses, 1):
            host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
            request = http.build_request(
                "POST",
                url.copy_with(host=host),
                content=message.payload.encode(),
                headers=headers,
                # The certificate must be the name's.
                extensions={"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                answer = await http.send(request, stream=True, follow_redirects=False)
            except httpx2.ConnectError:
                if position == len(addresses):
                    raise
                continue
            try:
                size = 0
                async for part in answer.aiter_raw():
                    if (size := size + len(part)) > MAX_ANSWER:
                        break
            finally:
                await answer.aclose()
            return judge(message, answer.status_code, answer.headers.get("Retry-After"))
        raise AssertionError("a name resolves to an address at least")


def sign(held: HeldWebhook, message: Message) -> dict[str, str]:
    """Return the headers with id, time and signatures by each secret."""
    now = system_clock()
    signatures = [Signer(secret).sign(message.id, now, message.payload) for secret in held.secrets]
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def judge(message: Message, status: int, retry_after: str | None) -> Outcome:
    """Return the outcome that an answer means."""
    if 200 <= status < 300:
        return Outcome(message=message, status=status)
    error = f"answered {status}"
    if 300 <= status < 400:
        error += "; redirects are not followed"
    asked = None if retry_after is None else read_retry_after(retry_after)
    pause = None if asked is None else min(asked, MAX_PAUSE)
    return Outcome(message=message, status=status, error=error, retry_after=pause)
