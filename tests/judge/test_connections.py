"""Connections that send nothing, or little by little, do not stop the page."""

import contextlib
import select
import socket
import threading
import time

import pytest

pytest.importorskip("uvicorn", reason="the judging page needs the extra `judge`")

import uvicorn

from dcglearn.judge import connections
from dcglearn.judge.server import Access, Place, allowed_hosts, judging_app, listen
from dcglearn.judge.study import Study
from tests.judge.makers import candidates

TOKEN = "0123456789abcdef0123"


@pytest.fixture
def port(tmp_path, monkeypatch):
    monkeypatch.setattr(connections.PatientProtocol, "patience", 1.0)
    listening = listen(Place(port=8740))
    number = listening.getsockname()[1]
    with contextlib.closing(Study(candidates(), tmp_path / "verdicts.jsonl")) as study:
        app = judging_app(study, Access(allowed_hosts(number), TOKEN, TOKEN[::-1]))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=connections.PatientProtocol,
                ws="none",
                lifespan="off",
                log_level="critical",
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield number
        server.should_exit = True
        thread.join(5)


def asked(port, request, begun=None):
    """Return the answer to a request, as far as it is sent in five seconds."""
    with begun or socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
            if b"\r\n\r\n" in answer:
                break
        return answer


def open_ones(held):
    """Return the connections that the other side has not closed."""
    ended = select.select(held, [], [], 0)[0]
    return [connection for connection in held if connection not in ended]


def test_half_open_connections_are_few_and_end(port):
    held = []
    page = f"GET /?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    assert asked(port, page).startswith(b"HTTP/1.1 200")
    for number in range(300):
        held.append(socket.create_connection(("127.0.0.1", port), timeout=5))
        if number % 2:
            held[-1].sendall(b"POST /api/verdicts HTTP/1.1\r\nHost: 127")
    began = time.monotonic()
    assert asked(port, page).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - began < 1
    assert len(open_ones(held)) <= connections.PatientProtocol.most_waiting
    while open_ones(held) and time.monotonic() < began + 5:
        time.sleep(0.1)
    assert not open_ones(held)
    for connection in held:
        connection.close()


def test_a_request_without_the_token_is_not_kept_alive(port):
    refusal = asked(port, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    assert refusal.startswith(b"HTTP/1.1 403") and b"connection: close" in refusal


def test_a_rater_who_reads_for_long_keeps_the_page(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
    head = f"POST /api/next HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Cookie: dcglearn_judge_{port}={TOKEN}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 29\r\n\r\n"
    connection.sendall(head.encode())
    time.sleep(1.5)  # longer than the head may take
    assert asked(port, b'{"rater": "ann", "tab": "tab"}'[:29], connection).startswith(
        b"HTTP/1.1 400"
    )
