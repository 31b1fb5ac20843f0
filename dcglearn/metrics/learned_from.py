"""The log that a metric was learned from, as its file tells it."""

from __future__ import annotations

from dataclasses import dataclass

from dcglearn.foundation.plain_text import number_of


@dataclass(frozen=True)
class LearnedFrom:
    """The log that a metric was learned from.

    Parameters
    ----------
    n_judgements, n_raters : int
        Number of its judgements, and of its raters; 0 where it does not name them.
    depth, n_grades : int
        The last position that held a result, and the number of grades.
    digest : str
        SHA-256 of its lists, the preferred one first, weights and raters.
    until : str
        The time of the last judgement, where the log tells it; so equal logs give equal files.
    grader : str
        Who graded the documents; no log tells it, so that it can be added.

    See Also
    --------
    DCG : A metric, which holds it.

    Examples
    --------
    >>> print(dl.evaluation.LearnedFrom(n_judgements=500, depth=10, n_grades=5, n_raters=12))
    500 judgements by 12 raters of lists down to position 10, on 5 grades
    """

    n_judgements: int
    depth: int
    n_grades: int
    n_raters: int = 0
    digest: str = ""
    until: str = ""
    grader: str = ""

    def caution(self, depth: int, n_grades: int) -> str:
        """Return what differs where values count so many positions, of so many grades."""
        differences = []
        if n_grades != self.n_grades:
            differences.append(number_of(n_grades, "grades"))
        if depth > self.depth:
            differences.append(number_of(depth, "positions"))
        if not differences:
            return ""
        return f"learned from {self}, but used on {' and '.join(differences)}"

    def __str__(self) -> str:
        raters = f" by {number_of(self.n_raters, 'raters', ',')}" if self.n_raters else ""
        until = f" until {self.until}" if self.until else ""
        grader = f" by {self.grader}" if self.grader else ""
        log = f" (log {self.digest[:8]})" if self.digest else ""
        return (
            f"{number_of(self.n_judgements, 'judgements', ',')}{raters}{until}{log} of lists down "
            f"to position {self.depth}, on {number_of(self.n_grades, 'grades')}{grader}"
        )
