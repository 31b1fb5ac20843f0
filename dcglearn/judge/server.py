"""The server of a study: who may ask, its responses, and the port and token of this machine."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dcglearn.foundation.markup import rendered
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.judge.exported import page_part
from dcglearn.judge.page_answers import Refused
from dcglearn.judge.progress import Progress
from dcglearn.judge.study import Study
from dcglearn.judge.verdict_log import NotSaved

_LOG = logging.getLogger(__name__)

MOST_BODY = 1 << 20
"""Largest body of a request, in bytes."""


@dataclass(frozen=True)
class Access:
    """Who may ask: under which host names, with which token; the `owner`'s opens all paths."""

    hosts: tuple[str, ...]
    token: str
    owner: str
    image_hosts: tuple[str, ...] = ()

    def cookies(self, path: str) -> dict[str, str]:
        """Return the tokens that open a path, by the name of their cookie.

        The name holds the port, since the ports of a host share cookies.
        """
        port = self.hosts[0].rpartition(":")[2]
        owners = {f"dcglearn_owner_{port}": self.owner}
        if path.startswith(("/progress", "/api/progress", "/export/")):
            return owners
        return {f"dcglearn_judge_{port}": self.token, **owners}

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every response."""
        images = " ".join(["'self'", "data:", *self.image_hosts])
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src {images}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )

        # nothing is shared with other sites, or kept
        return {
            "content-security-policy": policy,
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }


class Guard(BaseHTTPMiddleware):
    """Refuses foreign hosts and origins, and requests without token or JSON."""

    def __init__(self, app: Any, access: Access) -> None:
        super().__init__(app)
        self._access = access

    async def dispatch(self, request: Request, call_next: Callable[[Request], Any]) -> Response:
        """Answer a request, with headers, and a new cookie, in every response."""
        extra = dict(self._access.headers)
        refusal = self._refusal(request, extra)

        # close the connection of a refused request
        if refusal is not None:
            _LOG.info("a request was refused with status %d", refusal.status_code)
            extra["connection"] = "close"
        response = refusal or await call_next(request)
        response.headers.update(extra)
        return response

    def _refusal(self, request: Request, extra: dict[str, str]) -> Response | None:
        """Return the response to a request that is refused; a new cookie goes to `extra`."""
        hosts, headers = self._access.hosts, request.headers
        if headers.get("host", "").lower() not in hosts:
            return PlainTextResponse(f"This server answers to http://{hosts[0]} only.\n", 421)
        origins = [f"http://{host}" for host in hosts]
        if "origin" in headers and headers["origin"].lower() not in origins:
            return PlainTextResponse("Requests from other sites are refused.\n", 403)

        # the token, in the address or a cookie
        if not self._has_token(request, extra):
            remedy = "Open the address that dcglearn judge printed"
            return PlainTextResponse(f"{remedy}: it holds the token of this session.\n", 403)
        if request.method != "POST":
            return None

        # what is sent is JSON of a known length
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return PlainTextResponse("Send JSON, as application/json.\n", 415)
        length = headers.get("content-length", "")
        if not length.isdigit() or int(length) > MOST_BODY:
            limit = f"Send at most {MOST_BODY} bytes, with their number.\n"
            return PlainTextResponse(limit, 413)
        return None

    def _has_token(self, request: Request, extra: dict[str, str]) -> bool:
        token = request.query_params.get("token", "")
        for name, expected in self._access.cookies(request.scope["path"]).items():
            if token and request.method == "GET" and _same(token, expected):
                extra["set-cookie"] = f"{name}={token}; Path=/; HttpOnly; SameSite=Strict"
                return True
            if _same(request.cookies.get(name, ""), expected):
                return True
        return False


def allowed_hosts(port: int, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the hosts under which a server on this machine is asked: its names with the port."""
    local = ("127.0.0.1", "localhost", "[::1]")
    return tuple(dict.fromkeys(f"{name.lower()}:{port}" for name in (*names, *local)))


def _same(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode(), token.encode())


def judging_app(study: Study, access: Access) -> Starlette:
    """Return the server of a study."""
    progress = Progress(study)
    calls: dict[str, Callable[[Fields], Response]] = {
        # for raters
        "/api/session": lambda _: _session(study),
        "/api/next": lambda body: JSONResponse(_pairs(study, body)),
        "/api/verdicts": lambda body: _save(study, body),
        # for the owner
        "/api/progress": lambda _: JSONResponse(progress.page()),
        "/export/verdicts.jsonl": lambda _: _download(
            "verdicts.jsonl", "application/x-ndjson", study.log.path.read_bytes()
        ),
        # what `Study.next_command` would write
        "/export/dcg.json": lambda _: _download(
            "dcg.json", "application/json", progress.dcg_bytes()
        ),
        "/export/dcg.png": lambda _: _download("dcg.png", "image/png", progress.picture_bytes()),
    }
    posted = ("/api/next", "/api/verdicts")
    routes = [
        Route(path, _called(function), methods=["POST" if path in posted else "GET"])
        for path, function in calls.items()
    ]

    # the page, its style and its script, which are the same for all
    page = rendered("judge/page/page.html")
    files = {
        "/": (page, "text/html"),
        "/progress": (page, "text/html"),
        "/page.css": (rendered("judge/page/page.css"), "text/css"),
        "/page.js": (page_part("page.js"), "text/javascript"),
    }
    for path, (content, kind) in files.items():
        routes.append(Route(path, Response(content, media_type=kind), methods=["GET"]))
    return Starlette(routes=routes, middleware=[Middleware(Guard, access=access)])


def _called(function: Callable[[Fields], Response]) -> Callable[[Request], Any]:
    """Return an endpoint that calls a function with the JSON object it was sent, in a thread."""

    async def respond(request: Request) -> Response:
        # the object that was sent
        try:
            body = json.loads(await request.body()) if request.method == "POST" else {}
        except (ValueError, RecursionError):
            return _refusal("The request is not JSON.", 400)
        if not isinstance(body, dict):
            return _refusal("The request is not a JSON object.", 400)

        # a status for each kind of failure
        try:
            return await run_in_threadpool(function, body)
        except Refused as error:
            return _refusal(str(error), 400)
        except NotSaved as error:
            _LOG.error("verdicts not saved: %s", error)
            return _refusal(str(error), 507)
        except InputError as error:
            return _refusal(str(error), 409)

    return respond


def _session(study: Study) -> Response:
    rules = study.rules
    session = {
        "study": study.name,
        "log": study.log.path.name,
        "raters": list(rules.raters),
        "strengths": rules.strengths,
        "n_grades": study.candidates.n_grades,
        "width": rules.width,
    }
    return JSONResponse(session)


def _save(study: Study, body: Fields) -> Response:
    rater = study.rater(body.get("rater"))
    answers, most = body.get("verdicts"), 200
    if not isinstance(answers, list) or len(answers) > most:
        raise Refused(f"send up to {most} verdicts as a list")
    saved, refused = study.save(rater, _tab(body), answers)
    return JSONResponse({"saved": saved, "refused": refused, **_pairs(study, body)})


def _pairs(study: Study, body: Fields) -> Fields:
    """Return the next pairs of a rater, and what the rater may know of the progress."""
    rater, tab = study.rater(body.get("rater")), _tab(body)
    holding = body.get("holding", [])
    listed = isinstance(holding, list) and all(isinstance(key, str) for key in holding)
    if not listed or len(holding) > 10:
        raise Refused("holding is a list of pairs")

    # pairs that the page keeps, and new ones
    dropped = study.leased_again(rater, tab, holding)
    holding = [key for key in holding if key not in dropped]
    pairs = study.next_pairs(rater, tab, holding)

    # pairs for the time without a server
    wanted, spare = body.get("spare", 0), []
    if type(wanted) is int:
        spare = study.spare_pairs(rater, wanted, [*holding, *(pair["pair"] for pair in pairs)])
    return {
        "pairs": pairs,
        "dropped": dropped,
        "spare": spare,
        "done": "" if pairs or holding else study.nothing_left(rater),
        "progress": study.progress(rater),
    }


def _tab(body: Fields) -> str:
    tab = body.get("tab")
    if not isinstance(tab, str) or not 1 <= len(tab) <= 64:
        raise Refused("tab is a short text")
    return tab


def _refusal(message: str, status: int) -> Response:
    return JSONResponse({"error": message}, status)


def _download(name: str, kind: str, content: bytes) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)


@dataclass(frozen=True)
class Place:
    """Where the server listens; a `token` is drawn where it is None."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    no_browser: bool = False

    def __post_init__(self) -> None:
        shortest = 16
        if self.token is None or (len(self.token) >= shortest and self.token.isalnum()):
            return
        raise InputError(
            f"the token keeps strangers out: give {shortest} letters and digits or more, or leave "
            "it out and one is drawn"
        )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in ("127.0.0.1", "localhost", "::1")


def serve(study: Study, place: Place, say: Callable[[str], None]) -> None:
    """Answer until interrupted; `say` prints for the person who started it.

    Raises InputError if no port is free.
    """
    import uvicorn

    from dcglearn.judge.connections import PatientProtocol

    # the address, the first of the hosts' names
    listening = listen(place)
    port = listening.getsockname()[1]
    names: tuple[str, ...] = ()
    if not place.local:
        name = f"[{place.host}]" if ":" in place.host else place.host
        names = (name, socket.gethostname())
        if name in ("0.0.0.0", "[::]"):
            names = names[::-1]
    hosts = allowed_hosts(port, names)

    # tokens, and pictures from elsewhere
    token, owner = place.token or secrets.token_hex(16), secrets.token_hex(16)
    images = tuple(study.candidates.image_hosts) if study.rules.images else ()
    app = judging_app(study, Access(hosts, token, owner, images))

    # what the person should know
    if port != place.port:
        say(f"port {place.port} is taken; this is the next free one: {port}")
    if not place.local:
        say(
            "warning: this is plain http, so everyone on the network can read along; use it on "
            "networks you trust"
        )
    say(f"what is learned, for you alone: http://{hosts[0]}/progress?token={owner}")
    url = f"http://{hosts[0]}/?token={token}"
    say(f"open: {url}")
    if not place.no_browser:
        webbrowser.open(url)

    # run until interrupted
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=2,
        log_level="warning",
        access_log=False,
        server_header=False,
    )

    # log its beginning and end
    _LOG.info("the judging page listens on %s and writes to %s", hosts[0], study.log.path)
    uvicorn.Server(config).run(sockets=[listening])
    _LOG.info("the judging page has ended")


def listen(place: Place) -> socket.socket:
    """Return a socket on the port of a place, or on the next free one; for errors see `serve`."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise InputError(
            f"--host {place.host}: {error.strerror}; give an address of this machine"
        ) from error

    # the first of 50 ports that is free; an address of version 6 may stand for version 4 too
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    for port in range(place.port, min(place.port + 50, 65536)):
        with_port = (address[0], port, *address[2:])
        try:
            return socket.create_server(with_port, family=family, dualstack_ipv6=both)
        except OSError as error:
            reason = error.strerror

    raise InputError(f"{place.host}: no port from {place.port} on could be used ({reason})")
