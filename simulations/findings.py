"""Titles of panels that state a finding only where claims bear it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulations.claims import CONDITION, CONSTRUCTED, HOLDS, PROVED, Claim

AGREES = (HOLDS, CONDITION, PROVED, CONSTRUCTED)
"""Verdicts of a claim that bear out what it says."""


def headline(
    claims: Iterable[Claim],
    finding: str,
    neutral: str,
    *rests_on: str,
    verdicts: Sequence[str] = AGREES,
) -> str:
    """Return a panel's title: a finding if the claims bear it out, and a neutral title otherwise.

    Parameters
    ----------
    claims : iterable of Claim
        The claims of the panel's program.
    finding, neutral : str
        The title that states what was found, and the one that only says what is shown.
    rests_on : str
        Parts of claims' texts. Each part must occur, and every claim in which it occurs must have
        one of `verdicts`.
    verdicts : sequence of str
        ``(FAILS,)`` for a finding that contradicts the claims.
    """
    claims = list(claims)
    for part in rests_on:
        named = [claim for claim in claims if part in claim.text]
        if not named or any(not c.testable or c.verdict not in verdicts for c in named):
            return neutral
    return finding
