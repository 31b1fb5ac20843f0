"""What the members of a spread training say to each other: a few numbers a tree, over sockets of their own."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

WAIT = 300.0
"""Seconds in which every member must have come: a worker may be busy, or still be reading its imports."""

_SIZE = struct.Struct(">Q")


class Link:
    """Everybody hears what everybody says, in the order of ranks: a star, with rank 0 in the middle.

    LightGBM adds up histograms alone; what our own objective and early stopping have to agree on goes this way.

    Parameters
    ----------
    rank, n : int
        Who this is, of how many.
    host, port : str, int
        Where rank 0 listens.
    token : str
        Names the training: another one's members are sent away.

    Raises
    ------
    ConnectionError
        If the members do not find each other in time.
    """

    def __init__(self, rank: int, n: int, host: str, port: int, token: str) -> None:
        self.rank, self.n = rank, n
        end = time.monotonic() + WAIT
        self._members = self._welcomed(port, token, end) if rank == 0 else [self._joined(host, port, token, end)]

    def _welcomed(self, port: int, token: str, end: float) -> list[socket.socket]:
        found: dict[int, socket.socket] = {}
        with socket.create_server(("", port), backlog=self.n) as server:
            while len(found) < self.n - 1:
                server.settimeout(max(end - time.monotonic(), 0.01))
                try:
                    member, _ = server.accept()
                except TimeoutError:
                    missing = sorted(set(range(1, self.n)) - set(found))
                    raise ConnectionError(f"members {missing} did not come within {WAIT:g} seconds") from None
                member.settimeout(10)
                try:
                    theirs, rank = _heard(member)
                except (ConnectionError, TimeoutError, ValueError, TypeError):
                    member.close()
                    continue
                if theirs != token or rank in found:
                    member.close()
                    continue
                found[rank] = _ready(member)
        return [found[rank] for rank in range(1, self.n)]

    def _joined(self, host: str, port: int, token: str, end: float) -> socket.socket:
        while True:
            try:
                member = socket.create_connection((host, port), timeout=10)
            except OSError as error:
                if time.monotonic() > end:
                    raise ConnectionError(
                        f"member 0 cannot be reached at {host}:{port} ({error}): a firewall, or a worker busy for long"
                    ) from error
                time.sleep(0.05)
                continue
            _say(_ready(member), [token, self.rank])
            return member

    def gathered(self, words: Any) -> list[Any]:
        """Return what each member said (anything that JSON holds), in the order of ranks.

        Raises
        ------
        ConnectionError
            If a member is gone.
        """
        if self.rank:
            _say(self._members[0], words)
            found: list[Any] = _heard(self._members[0])
            return found
        everything = [words, *(_heard(member) for member in self._members)]
        for member in self._members:
            _say(member, everything)
        return everything

    def close(self) -> None:
        """Leave."""
        for member in self._members:
            member.close()


def _ready(member: socket.socket) -> socket.socket:
    member.settimeout(None)  # whoever watches over the training ends it if a member is lost
    member.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    member.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return member


def _say(member: socket.socket, words: Any) -> None:
    data = json.dumps(words, default=str).encode()
    member.sendall(_SIZE.pack(len(data)) + data)


def _heard(member: socket.socket) -> Any:
    (size,) = _SIZE.unpack(_exactly(member, _SIZE.size))
    return json.loads(_exactly(member, size))


def _exactly(member: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = member.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise ConnectionError("another member of the training is gone")
        data += piece
    return bytes(data)
