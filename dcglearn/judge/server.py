"""The server of a study: who may ask, the answers, and the port, token and browser of this machine."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dcglearn.foundation.validation import InputError
from dcglearn.judge.progress import Progress
from dcglearn.judge.study import Refused, Study
from dcglearn.judge.verdict_log import NotSaved

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOG = logging.getLogger(__name__)

PAGE = Path(__file__).parent / "page"
"""The page, its style and its script."""

TYPES = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}

OWNERS = ("/progress", "/api/progress", "/export/")
"""Beginnings of the paths that the owner's token alone opens."""

MOST_BODY = 1 << 20
"""Largest body of a request, in bytes."""

MOST_ANSWERS = 200
"""Answers of one request."""

SHORTEST_TOKEN = 16
"""Characters of a token that is not drawn here."""


@dataclass(frozen=True)
class Access:
    """Who may ask: under which host names, with which token; the `owner`'s opens what is learned
    too.
    """

    hosts: tuple[str, ...]
    token: str
    owner: str
    image_hosts: tuple[str, ...] = ()

    def cookies(self, path: str) -> dict[str, str]:
        """Return the tokens that open a path, by the name of their cookie; the ports of a host
        share cookies.
        """
        port = self.hosts[0].rpartition(":")[2]
        owners = {f"dcglearn_owner_{port}": self.owner}
        return (
            owners if path.startswith(OWNERS) else {f"dcglearn_judge_{port}": self.token, **owners}
        )

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
            "content-security-policy": "; ".join(
                f"{name} {value}" for name, value in policy.items()
            ),
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }


class Guard:
    """ASGI middleware: refuses foreign hosts and origins, requests without the token, and bodies
    that are not JSON.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        extra = dict(self._access.headers)
        refusal = self._refusal(scope, headers, extra)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in extra.items()]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        if refusal is not None:
            _LOG.info("a request was refused with status %d", refusal.status_code)
            extra["connection"] = "close"
            await refusal(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _refusal(self, scope: Scope, headers: dict[str, str], extra: dict[str, str]) -> Any:
        """Return the answer to a request that is refused, None for one that passes; a new cookie
        goes to `extra`.
        """
        access = self._access
        if headers.get("host", "").lower() not in access.hosts:
            return PlainTextResponse(
                f"This server answers to http://{access.hosts[0]} only.\n", 421
            )
        origins = [f"http://{host}" for host in access.hosts]
        if "origin" in headers and headers["origin"].lower() not in origins:
            return PlainTextResponse("Requests from other sites are refused.\n", 403)
        if not self._has_token(scope, headers, extra):
            message = "Open the address that dcglearn judge printed: it holds the token of this session.\n"
            return PlainTextResponse(message, 403)
        if scope["method"] == "POST":
            if (
                headers.get("content-type", "").partition(";")[0].strip().lower()
                != "application/json"
            ):
                return PlainTextResponse("Send JSON, as application/json.\n", 415)
            length = headers.get("content-length", "")
            if not length.isdigit() or int(length) > MOST_BODY:
                return PlainTextResponse(
                    f"Send at most {MOST_BODY} bytes, with their number.\n", 413
                )
        return None

    def _has_token(self, scope: Scope, headers: dict[str, str], extra: dict[str, str]) -> bool:
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        cookies = cookie_parser(headers.get("cookie", ""))
        for name, expected in self._access.cookies(scope["path"]).items():
            if token and scope["method"] == "GET" and _same(token, expected):
                extra["set-cookie"] = f"{name}={token}; Path=/; HttpOnly; SameSite=Strict"
                return True
            if _same(cookies.get(name, ""), expected):
                return True
        return False


def allowed_hosts(port: int, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the hosts under which a server on this machine is asked: its names with the port."""
    return tuple(
        dict.fromkeys(
            f"{name.lower()}:{port}" for name in (*names, "127.0.0.1", "localhost", "[::1]")
        )
    )


def _same(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode(), token.encode())


def judging_app(study: Study, access: Access) -> Starlette:
    """Return the server of a study."""
    progress = Progress(study)
    routes = [
        Route("/", _file("page.html")),
        Route("/progress", _file("page.html")),
        Route("/page.css", _file("page.css")),
        Route("/page.js", _file("page.js")),
        Route("/api/session", _called(partial(_session, study))),
        Route(
            "/api/next", _called(lambda body: JSONResponse(_pairs(study, body))), methods=["POST"]
        ),
        Route("/api/verdicts", _called(partial(_save, study)), methods=["POST"]),
        Route("/api/progress", _called(lambda _: JSONResponse(progress.report()))),
        Route(
            "/export/verdicts.jsonl",
            _called(lambda _: _download("verdicts.jsonl", study.log.path.read_bytes())),
        ),
        Route("/export/dcg.json", _called(lambda _: _download("dcg.json", progress.dcg_bytes()))),
        Route("/export/dcg.png", _called(lambda _: _download("dcg.png", progress.picture_bytes()))),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, access=access)])


def _file(name: str) -> Callable[[Request], Any]:
    content = (PAGE / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=TYPES[name])

    return answer


def _called(function: Callable[[dict[str, Any]], Response]) -> Callable[[Request], Any]:
    """Return an endpoint that calls a function with the JSON object it was sent, in a thread."""

    async def answer(request: Request) -> Response:
        try:
            body = json.loads(await request.body()) if request.method == "POST" else {}
        except (ValueError, RecursionError):
            return _refusal("The request is not JSON.", 400)
        if not isinstance(body, dict):
            return _refusal("The request is not a JSON object.", 400)
        try:
            return await run_in_threadpool(function, body)
        except Refused as error:
            return _refusal(str(error), 400)
        except NotSaved as error:
            _LOG.error("verdicts not saved: %s", error)
            return _refusal(str(error), 507)
        except InputError as error:
            return _refusal(str(error), 409)

    return answer


def _session(study: Study, _: dict[str, Any]) -> Response:
    rules = study.rules
    return JSONResponse(
        {
            "study": study.name,
            "log": study.log.path.name,
            "raters": list(rules.raters),
            "strengths": rules.strengths,
            "width": rules.width,
            "n_grades": study.candidates.n_grades,
        }
    )


def _save(study: Study, body: dict[str, Any]) -> Response:
    rater = study.rater(body.get("rater"))
    answers = body.get("verdicts")
    if not isinstance(answers, list) or len(answers) > MOST_ANSWERS:
        raise Refused(f"send up to {MOST_ANSWERS} verdicts as a list")
    saved, refused = study.save(rater, _tab(body), answers)
    return JSONResponse({"saved": saved, "refused": refused, **_pairs(study, body)})


def _pairs(study: Study, body: dict[str, Any]) -> dict[str, Any]:
    """Return the next pairs of a rater, and what the rater may know of the progress."""
    rater = study.rater(body.get("rater"))
    holding = body.get("holding", [])
    if (
        not isinstance(holding, list)
        or len(holding) > 10
        or not all(isinstance(key, str) for key in holding)
    ):
        raise Refused("holding is a list of pairs")
    dropped = study.leased_again(rater, _tab(body), holding)
    holding = [key for key in holding if key not in dropped]
    pairs = study.next_pairs(rater, _tab(body), holding)
    wanted = body.get("spare", 0)
    spare = (
        study.spare_pairs(rater, wanted, [*holding, *(pair["pair"] for pair in pairs)])
        if type(wanted) is int
        else []
    )
    done = "" if pairs or holding else study.nothing_left(rater)
    return {
        "pairs": pairs,
        "dropped": dropped,
        "spare": spare,
        "done": done,
        "progress": study.progress(rater),
    }


def _tab(body: dict[str, Any]) -> str:
    tab = body.get("tab")
    if not isinstance(tab, str) or not 1 <= len(tab) <= 64:
        raise Refused("tab is a short text")
    return tab


def _refusal(message: str, status: int) -> Response:
    return JSONResponse({"error": message}, status)


def _download(name: str, content: bytes) -> Response:
    kinds = {"jsonl": "application/x-ndjson", "json": "application/json", "png": "image/png"}
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kinds[name.rpartition(".")[2]], headers=headers)


@dataclass(frozen=True)
class Place:
    """Where the server listens; a `token` is drawn where it is None."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    browser: bool = True

    def __post_init__(self) -> None:
        if self.token is not None and (
            len(self.token) < SHORTEST_TOKEN or not self.token.isalnum()
        ):
            raise InputError(
                f"the token keeps strangers out: give {SHORTEST_TOKEN} letters and digits or more, or leave it out "
                "and one is drawn"
            )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in ("127.0.0.1", "localhost", "::1")


def serve(study: Study, place: Place, say: Callable[[str], None]) -> None:
    """Answer until interrupted; `say` prints for the person who started it. Raise InputError if no
    port is free.
    """
    import uvicorn

    from dcglearn.judge.connections import PatientProtocol

    listening = listen(place)
    port = listening.getsockname()[1]
    token, owner = place.token or secrets.token_hex(16), secrets.token_hex(16)
    name = f"[{place.host}]" if ":" in place.host else place.host
    own = socket.gethostname()
    known = (
        (own, name) if name in ("0.0.0.0", "[::]") else (name, own)
    )  # to the network; the first is printed
    names = () if place.local else known
    hosts = allowed_hosts(port, names)
    images = tuple(study.candidates.image_hosts) if study.rules.images else ()
    app = judging_app(study, Access(hosts, token, owner, images))
    url = f"http://{hosts[0]}/?token={token}"
    if port != place.port:
        say(f"port {place.port} is taken; this is the next free one: {port}")
    if not place.local:
        say(
            "warning: this is plain http, so everyone on the network can read along; use it on networks you trust"
        )
    say(f"what is learned, for you alone: http://{hosts[0]}/progress?token={owner}")
    say(f"open: {url}")
    if place.browser:
        webbrowser.open(url)
    quiet: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
    config = uvicorn.Config(
        app, http=PatientProtocol, ws="none", lifespan="off", timeout_graceful_shutdown=2, **quiet
    )
    _LOG.info("the judging page listens on %s and writes to %s", hosts[0], study.log.path)
    uvicorn.Server(config).run(sockets=[listening])
    _LOG.info("the judging page has ended")


def listen(place: Place) -> socket.socket:
    """Return a socket that listens on the port of a place, or on the next free one; for errors see
    `serve`.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise InputError(
            f"--host {place.host}: {error.strerror}; give an address of this machine"
        ) from error
    for port in range(place.port, min(place.port + 50, 65536)):
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
    raise InputError(
        f"{place.host}: no port from {place.port} on could be used ({reason.strerror})"
    )
