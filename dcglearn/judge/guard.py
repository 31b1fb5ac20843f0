"""What a request must be before the server answers it, and what every answer forbids the browser to do."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOG = logging.getLogger(__name__)

MOST_BODY = 1 << 20
"""Largest body of a request, in bytes."""


@dataclass(frozen=True)
class Access:
    """Who may ask: under which host names, with which token."""

    hosts: tuple[str, ...]
    token: str
    image_hosts: tuple[str, ...] = ()

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers share cookies between the ports of a host."""
        return f"dcglearn_judge_{self.hosts[0].rpartition(':')[2]}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every answer."""
        policy = {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "connect-src": "'self'",
            "img-src": " ".join(["'self'", "data:", *self.image_hosts]),
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        return {
            "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }


class Guard:
    """ASGI middleware: refuses foreign hosts and origins, requests without the token, and bodies that are not JSON."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        extra = dict(self._access.headers)
        refusal = self._refusal(scope, headers, extra)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in extra.items()]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        if refusal is not None:
            _LOG.info("a request was refused with status %d", refusal.status_code)
            await refusal(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: dict[str, str], extra: dict[str, str]) -> Any:
        """Return the answer to a request that is refused, None for one that passes; a new cookie goes to `extra`."""
        access = self._access
        if headers.get("host", "").lower() not in access.hosts:
            return PlainTextResponse(f"This server answers to http://{access.hosts[0]} only.\n", 421)
        origins = [f"http://{host}" for host in access.hosts]
        if "origin" in headers and headers["origin"].lower() not in origins:
            return PlainTextResponse("Requests from other sites are refused.\n", 403)
        if not self._has_token(scope, headers, extra):
            words = "Open the address that dcglearn judge printed: it holds the token of this session.\n"
            return PlainTextResponse(words, 403)
        if scope["method"] == "POST":
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return PlainTextResponse("Send JSON, as application/json.\n", 415)
            length = headers.get("content-length", "")
            if not length.isdigit() or int(length) > MOST_BODY:
                return PlainTextResponse(f"Send at most {MOST_BODY} bytes, with their number.\n", 413)
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str], extra: dict[str, str]) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and scope["method"] == "GET" and _same(given, self._access.token):
            extra["set-cookie"] = f"{self._access.cookie}={given}; Path=/; HttpOnly; SameSite=Strict"
            return True
        return _same(cookie_parser(headers.get("cookie", "")).get(self._access.cookie, ""), self._access.token)


def allowed_hosts(port: int, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the hosts under which a server on this machine is asked: its names with the port."""
    return tuple(dict.fromkeys(f"{name.lower()}:{port}" for name in (*names, "127.0.0.1", "localhost", "[::1]")))


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())
