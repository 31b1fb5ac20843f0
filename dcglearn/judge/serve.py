"""Run the server of a study on this machine: port, token, browser."""

from __future__ import annotations

import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass

from dcglearn.foundation.validation import InputError
from dcglearn.judge.app import judging_app
from dcglearn.judge.guard import Access, allowed_hosts
from dcglearn.judge.study import Study

_LOG = logging.getLogger(__name__)

MOST_PORTS = 50
"""Ports tried, from the one asked for on."""

SHORTEST_TOKEN = 16
"""Characters of a token that is not drawn here."""


@dataclass(frozen=True)
class Place:
    """Where the server listens; a `token` is drawn where it is None."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    browser: bool = True

    def __post_init__(self) -> None:
        if self.token is not None and (len(self.token) < SHORTEST_TOKEN or not self.token.isalnum()):
            raise InputError(
                f"the token keeps strangers out: give {SHORTEST_TOKEN} letters and digits or more, or leave it out "
                "and one is drawn"
            )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in ("127.0.0.1", "localhost", "::1")


def serve(study: Study, place: Place, say: Callable[[str], None]) -> None:
    """Answer until interrupted; `say` is called with lines for the person who started the server.

    Raises InputError if no port is free, or the host is not this machine's.
    """
    import uvicorn

    listening = listen(place)
    port = listening.getsockname()[1]
    token = place.token or secrets.token_hex(16)
    name = f"[{place.host}]" if ":" in place.host else place.host
    names = () if place.local else _names(name)
    hosts = allowed_hosts(port, names)
    images = tuple(study.candidates.image_hosts) if study.rules.images else ()
    app = judging_app(study, Access(hosts, token, images))
    url = f"http://{hosts[0]}/?token={token}"
    if port != place.port:
        say(f"port {place.port} is taken; this is the next free one: {port}")
    if not place.local:
        say("warning: this is plain http, so everyone on the network can read along; use it on networks you trust")
    say(f"open: {url}")
    if place.browser:
        webbrowser.open(url)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=2
    )
    _LOG.info("the judging page listens on %s and writes to %s", hosts[0], study.log.path)
    uvicorn.Server(config).run(sockets=[listening])
    _LOG.info("the judging page has ended")


def listen(place: Place) -> socket.socket:
    """Return a socket that listens on the port of a place, or on the next free one; for errors see `serve`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InputError(f"--host {place.host}: {error.strerror}; give an address of this machine") from error
    for port in range(place.port, min(place.port + MOST_PORTS, 65536)):
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((address[0], port, *address[2:]))
            listening.listen(128)
        except OSError as error:
            listening.close()
            reason = error
        else:
            return listening
    raise InputError(f"{place.host}: no port from {place.port} on could be used ({reason.strerror})")


def _names(host: str) -> tuple[str, ...]:
    """Return the names under which a network knows this machine; the first is the one that is printed."""
    own = socket.gethostname()
    return (own, host) if host in ("0.0.0.0", "[::]") else (host, own)
