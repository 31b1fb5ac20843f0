"""The server's answers: the page, the next pair, saved verdicts, and what is learned."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dcglearn.foundation.validation import InputError
from dcglearn.judge.guard import Access, Guard
from dcglearn.judge.progress import Progress
from dcglearn.judge.study import Refused, Study
from dcglearn.judge.verdict_log import NotSaved

if TYPE_CHECKING:
    from starlette.requests import Request

_LOG = logging.getLogger(__name__)

PAGE = Path(__file__).parent / "page"
"""The page, its style and its script."""

TYPES = {"page.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}

MOST_ANSWERS = 200
"""Answers of one request."""


def judging_app(study: Study, access: Access) -> Starlette:
    """Return the server of a study."""
    progress = Progress(study)
    routes = [
        Route("/", _file("page.html")),
        Route("/progress", _file("page.html")),
        Route("/page.css", _file("page.css")),
        Route("/page.js", _file("page.js")),
        Route("/api/session", _called(partial(_session, study))),
        Route("/api/next", _called(partial(_next, study)), methods=["POST"]),
        Route("/api/verdicts", _called(partial(_save, study)), methods=["POST"]),
        Route("/api/progress", _called(lambda _: JSONResponse(progress.report()))),
        Route("/export/verdicts.jsonl", _called(lambda _: _download("verdicts.jsonl", progress.log_bytes()))),
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
            return _words("The request is not JSON.", 400)
        if not isinstance(body, dict):
            return _words("The request is not a JSON object.", 400)
        try:
            return await run_in_threadpool(function, body)
        except Refused as error:
            return _words(str(error), 400)
        except NotSaved as error:
            _LOG.error("verdicts not saved: %s", error)
            return _words(str(error), 507)
        except InputError as error:
            return _words(str(error), 409)

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


def _next(study: Study, body: dict[str, Any]) -> Response:
    rater = study.rater(body.get("rater"))
    return JSONResponse(_pairs(study, rater, body))


def _save(study: Study, body: dict[str, Any]) -> Response:
    rater = study.rater(body.get("rater"))
    answers = body.get("verdicts")
    if not isinstance(answers, list) or len(answers) > MOST_ANSWERS:
        raise Refused(f"send up to {MOST_ANSWERS} verdicts as a list")
    saved, refused = study.save(rater, _tab(body), answers)
    return JSONResponse({"saved": saved, "refused": refused, **_pairs(study, rater, body)})


def _pairs(study: Study, rater: str, body: dict[str, Any]) -> dict[str, Any]:
    holding = body.get("holding", [])
    if not isinstance(holding, list) or len(holding) > 10 or not all(isinstance(key, str) for key in holding):
        raise Refused("holding is a list of pairs")
    pairs = study.next_pairs(rater, _tab(body), holding)
    done = "" if pairs or holding else study.nothing_left(rater)
    return {"pairs": pairs, "done": done, "progress": study.progress(rater)}


def _tab(body: dict[str, Any]) -> str:
    tab = body.get("tab")
    if not isinstance(tab, str) or not 1 <= len(tab) <= 64:
        raise Refused("tab is a short text")
    return tab


def _words(words: str, status: int) -> Response:
    return JSONResponse({"error": words}, status)


def _download(name: str, content: bytes) -> Response:
    kinds = {"jsonl": "application/x-ndjson", "json": "application/json", "png": "image/png"}
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kinds[name.rpartition(".")[2]], headers=headers)
