"""Connections of the judging page: those that send no request are closed, so that they cannot stop the page."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""Seconds that a connection has to send the head of its first request."""

MOST_WAITING = 100
"""Connections without a request that are held; a new one closes the oldest."""


class PatientProtocol(H11Protocol):
    """HTTP of a connection that has `PATIENCE` seconds for its first request; a refused request closes it (`Guard`)."""

    _waiting: ClassVar[dict[PatientProtocol, asyncio.TimerHandle]] = {}

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._waiting[self] = self.loop.call_later(PATIENCE, transport.abort)
        if len(self._waiting) > MOST_WAITING:
            oldest = next(iter(self._waiting))
            oldest.no_longer_waits()
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.no_longer_waits()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what arrived; the wait ends with the head of a request."""
        super().handle_events()
        if self.cycle is not None:
            self.no_longer_waits()

    def no_longer_waits(self) -> None:
        """End the wait."""
        if timer := self._waiting.pop(self, None):
            timer.cancel()
