"""The guard of webhooks: no address inside the network that the service runs in."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from threading import Thread

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.receivers import Receiver
from support.fuzzing import cases
from theanine.errors import SettingsError
from theanine.store.sql.outbox import HeldWebhook, Message, Outcome
from theanine_server.webhooks.guard import ForbiddenAddress, Guard, is_internal
from theanine_server.webhooks.sender import Sender, judge

INTERNAL = (
    *("127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "0.0.0.0"),
    *("10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200"),
    *("168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[fe80::1]"),
    *("[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]"),
    *("[2002:7f00:1::]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[3fff::1]", "[100::1]"),
    *("[5f00::1]", "[fec0::1]"),
)
BAD = (
    *("", "example", "//example.com/", "ftp://8.8.8.8/", "file:///etc/passwd", "https://"),
    *("https://user@8.8.8.8/", "https://u:p@8.8.8.8/", "https://8.8.8.8/#part", "http://8.8.8.8/"),
    *("https://8.8.8.8:99999/", "https://[::1/", "https://8.8.8.8/" + "x" * 2_000),
    *("https://8.8.8.8:0/", "https://\0/", "gopher://8.8.8.8/"),
)


def check(url: str, *allowed: str) -> None:
    anyio.run(Guard(allowed).check, url)


@pytest.mark.parametrize("host", INTERNAL)
def test_internal_addresses_are_refused(host: str) -> None:
    for scheme in ("http", "https"):
        with pytest.raises(ForbiddenAddress):
            check(f"{scheme}://{host}/hook")


@pytest.mark.parametrize("url", BAD)
def test_bad_urls_are_refused(url: str) -> None:
    with pytest.raises(ForbiddenAddress):
        check(url)


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700::1111]", "134744072", "8.8.8.8:8443"])
def test_addresses_of_the_internet_pass(host: str) -> None:
    check(f"https://{host}/hook?token=1")


def test_a_network_is_allowed_by_name_alone() -> None:
    for url in ("http://10.1.2.3/", "https://10.1.2.3:8080/"):
        check(url, "10.0.0.0/8")
    for url in ("http://11.1.2.3/", "http://127.0.0.1/", "http://[::ffff:10.1.2.3]/"):
        with pytest.raises(ForbiddenAddress):
            check(url, "10.0.0.0/8")
    check("http://[fd00::1]/", "10.0.0.0/8", "fd00::/8")
    for network in ("10.0.0.1/8", "example.com", ""):
        with pytest.raises(SettingsError, match="name a network"):
            Guard([network])


def private(network: str) -> st.SearchStrategy[IPv4Address | IPv6Address]:
    kind = IPv6Network(network) if ":" in network else IPv4Network(network)
    return st.integers(int(kind[0]), int(kind[-1])).map(
        lambda number: IPv6Address(number) if ":" in network else IPv4Address(number)
    )


@given(
    st.sampled_from(
        "10.0.0.0/8 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 0.0.0.0/8 "
        "100.64.0.0/10 224.0.0.0/3 fc00::/7 fe80::/10 ::/8 ff00::/8".split()
    ).flatmap(private)
)
@cases(300)
def test_no_address_of_an_internal_network_passes(address: IPv4Address | IPv6Address) -> None:
    assert is_internal(address)
    if isinstance(address, IPv4Address):
        packed = address.packed.hex()
        for wrapped in (f"::ffff:{address}", f"64:ff9b::{packed[:4]}:{packed[4:]}"):
            assert is_internal(ip_address(wrapped))
        assert is_internal(ip_address(f"2002:{packed[:4]}:{packed[4:]}::1"))


def test_what_a_receiver_asks_for_is_read() -> None:
    message = Message(id="m", payload="{}", tries=0)
    waits = {
        text: judge(message, 429, text).retry_after
        for text in ("120", "99999999999", "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "-1", "²")
    }
    assert [*waits.values()] == [120, 86_400, 0, None, None, None]
    assert judge(message, 429, "Wed, 21 Oct 2199 07:28:00 GMT").retry_after == 86_400
    assert judge(message, 429, None).retry_after is None


def send(guard: Guard, url: str) -> Outcome:
    taken = HeldWebhook(webhook="w", number=1, url=url, secrets=("whsec_c2VjcmV0",), failures=0)

    async def run() -> Outcome:
        sender = Sender(guard)
        async with sender.connect() as http:
            return await sender.send(http, taken, Message(id="msg_1", payload="{}", tries=0))

    assert "whsec" not in repr(taken)
    return anyio.run(run)


class Rebinding(Guard):
    """A guard in front of a name server that gives another address each time."""

    def __init__(self) -> None:
        super().__init__(["127.0.0.0/8"])
        self.asked = 0

    async def resolve(self, url: httpx2.URL) -> list[IPv4Address | IPv6Address]:
        self.asked += 1
        [address] = await super().resolve(url.copy_with(host=f"127.0.0.{self.asked}"))
        return [address]


def test_a_message_goes_to_the_address_that_was_checked() -> None:
    with Receiver() as receiver:
        guard = Rebinding()
        outcome = send(guard, f"http://no-such-name.invalid:{receiver.port}/hook")
        assert outcome.status == 204 and guard.asked == 1
        assert receiver.received[0].headers["host"] == f"no-such-name.invalid:{receiver.port}"
        refused = send(Guard(), receiver.url)
        assert refused.status is None and "internal network" in refused.error
        proxied = {**os.environ, "HTTP_PROXY": receiver.url, "ALL_PROXY": receiver.url}
        code = (
            "import anyio, sys\n"
            "from theanine_server.webhooks.guard import Guard\n"
            "from theanine_server.webhooks.sender import Sender\n"
            "from theanine.store.sql.outbox import Message, HeldWebhook\n"
            "async def run():\n"
            "    sender = Sender(Guard(['127.0.0.0/8']))\n"
            "    taken = HeldWebhook(webhook='w', number=1, url='http://127.0.0.1:9/', "
            "secrets=('whsec_c2VjcmV0',), failures=0)\n"
            "    async with sender.connect() as http:\n"
            "        message = Message(id='m', payload='{}', tries=0)\n"
            "        print(await sender.send(http, taken, message))\n"
            "anyio.run(run)\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], env=proxied, capture_output=True, text=True, check=True
        )
        assert "no connection" in ran.stdout and len(receiver.received) == 1


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_a_certificate_must_be_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the connection goes to an address."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    options = "-newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext".split()
    files = ["-keyout", str(key), "-out", str(certificate)]
    command = ["openssl", "req", "-x509", *options, "subjectAltName=DNS:localhost", *files]
    subprocess.run(command, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    guard = Guard(["127.0.0.0/8", "::1/128"])
    with Receiver(tls=tls) as receiver:
        by_name = f"https://localhost:{receiver.port}/hook"
        assert send(guard, by_name).error == "no connection", "nobody vouches for it"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert send(guard, by_name).status == 204
        assert send(guard, by_name.replace("localhost", "127.0.0.1")).error == "no connection"
        assert len(receiver.received) == 1


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that closes each connection without an answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(10)
                connection.sendall(b"HTTP/1.1 20")
                connection.close()

        Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)


def test_a_broken_answer_is_a_failure(silent: str) -> None:
    outcome = send(Guard(["127.0.0.0/8"]), silent)
    assert outcome.status is None and outcome.error.startswith("no answer")
