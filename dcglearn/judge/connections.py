"""Connections of the judging page: one that sends no request is closed, so that none stops it."""

from __future__ import annotations

from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """HTTP of a connection that has some seconds for its first request.

    A refused request closes it too (`Guard`).
    """

    patience = 10.0
    """Seconds that a connection has to send the head of its first request."""

    most_waiting = 100
    """Connections without a request that are held; a new one closes the oldest."""

    _waiting: ClassVar[dict[PatientProtocol, None]] = {}

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._waiting[self] = None
        self.loop.call_later(self.patience, self._give_up)
        if len(self._waiting) > self.most_waiting:
            next(iter(self._waiting))._give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what arrived; the wait ends with the head of a request."""
        super().handle_events()
        if self.cycle is not None:
            self._waiting.pop(self, None)

    def _give_up(self) -> None:
        if self in self._waiting:
            del self._waiting[self]
            self.transport.abort()
