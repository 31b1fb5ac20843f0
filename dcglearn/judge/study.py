"""A study: candidates, raters and the log of their verdicts; what is asked of whom, and what an
answer does.
"""

import hashlib
import math
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError, PathLike
from dcglearn.judge.candidates import Candidates, Pair, known_pairs, pair_key, seen_items
from dcglearn.judge.learned import Chooser, Learned
from dcglearn.judge.verdict_log import NotSaved, Verdict, VerdictLog, check_fields
from dcglearn.metric.dcg import DCG
from dcglearn.readers.preferences import Preferences

CHOICES = {
    "left": ("left", None),
    "right": ("right", None),
    "both good": ("tie", "both good"),
    "both bad": ("tie", "both bad"),
    "skip": ("open", None),
    "undo": ("open", None),
}
"""What a rater may answer, as winner and kind of tie."""

LEASE = 600.0
"""Seconds for which a pair shown to one rater is not offered to another."""

RETURN = 60.0
"""Seconds from the start in which a page is given one pair at a time, while others tell which pairs
they hold.
"""

AHEAD, SPARE = 3, 20
"""Pairs that a page holds: the one shown and two more, and those for the time without a server."""

_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


@dataclass(frozen=True)
class Rules:
    """How a study is run.

    `raters` are the names allowed, empty for any; each pair is asked of `redundancy` raters;
    `active` is false for pairs at random; `balanced` asks all queries about equally often;
    `strengths` is the number of strengths of preference; `width` is that of the widest band at
    which there are enough verdicts; `images` shows pictures. With `practice`, a rater begins with
    three pairs whose answer is known; `checks` is the share of such pairs later.
    """

    raters: tuple[str, ...] = ()
    redundancy: int = 1
    active: bool = True
    balanced: bool = False
    strengths: int = 1
    width: float = 0.1
    images: bool = False
    practice: bool = False
    checks: float = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.redundancy < 1:
            raise InputError(f"redundancy={self.redundancy}: each pair is asked of 1 rater or more")
        if self.raters and self.redundancy > len(self.raters):
            raise InputError(
                f"redundancy={self.redundancy} for {len(self.raters)} raters; name more raters"
            )
        if not 1 <= self.strengths <= 5:
            raise InputError(f"strengths={self.strengths}: give 1 (which list is better) to 5")
        if not 0 <= self.checks <= 0.5:
            raise InputError(
                f"checks={self.checks}: give the share of pairs with a known answer, from 0 to 0.5"
            )
        if not 0 < self.width < 1:
            raise InputError(
                f"width={self.width}: a band of gains from 0 to 1 is between 0 and 1 wide"
            )


@dataclass
class Lease:
    """A pair that a page holds."""

    left_is_a: bool
    until: float


class Refused(Exception):
    """An answer that has no meaning; the message says why."""


class Study:
    """Candidates, rules, and the log of what was said; safe to call from several threads.

    An existing log of verdicts is continued. Raises InputError if it is not one of this page, or
    its lists are of another depth or scale. The `machine`, the DCG of a proxy, is used as
    `DCGLearner.fit` does; no rater hears of it.
    """

    def __init__(
        self,
        candidates: Candidates,
        log: PathLike,
        rules: Rules | None = None,
        machine: DCG | None = None,
    ) -> None:
        self.candidates, self.rules, self.machine = candidates, rules or Rules(), machine
        self.log = VerdictLog(log)
        self._lock = threading.RLock()
        self._chooser = Chooser(candidates.lists, active=self.rules.active, seed=self.rules.seed)
        self._leases: dict[tuple[str, str], dict[str, Lease]] = defaultdict(dict)
        self._known = {pair.key: pair for pair in known_pairs(candidates)}
        self._practice = set(list(self._known)[: 3 if self.rules.practice else 0])
        self._pairs = {pair.key: pair for pair in candidates.pairs} | self._known
        self._keys: dict[str, str] = {}  # the pair that each verdict is about
        self._all_back = time.monotonic() + RETURN if self.log.verdicts else 0.0
        try:
            self._check_shape()
        except InputError:
            self.log.close()
            raise
        self.learned = Learned(candidates.n_grades, candidates.depth, machine, self.rules.width)
        self._count()

    @property
    def name(self) -> str:
        """A digest of the log's place, by which a browser keeps the unsaved verdicts of studies
        apart.
        """
        return hashlib.sha256(str(self.log.path.resolve()).encode()).hexdigest()[:12]

    def close(self) -> None:
        """End the learning, and release the log."""
        self.learned.close()
        self.log.close()

    def rater(self, name: Any) -> str:
        """Return a rater's name; raise Refused if there is no such rater."""
        if (
            not isinstance(name, str)
            or not name.strip()
            or len(name) > 60
            or not name.isprintable()
        ):
            raise Refused("give a name of 1 to 60 characters")
        if self.rules.raters and name.strip() not in self.rules.raters:
            raise Refused(f"{name.strip()} is not one of the raters of this study")
        return name.strip()

    def leased_again(self, rater: str, tab: str, holding: Sequence[str]) -> list[str]:
        """Lease the pairs that a page holds without a lease: from before a restart of the server,
        or for bad times.

        Return those that it should drop, since enough other raters have judged or hold them by now.
        The first is on the screen, and stays.
        """
        with self._lock:
            self._refreshed()
            now = time.monotonic()
            mine, leased = self._leases[rater, tab], self._leased(now, rater)
            dropped = []
            for i, key in enumerate(holding):
                if key in mine or key not in self._pairs or key in self._done[rater]:
                    continue
                if i and len(self._raters_of[key] - {rater}) + leased[key] >= self.rules.redundancy:
                    dropped.append(key)
                else:
                    mine[key] = Lease(self._chooser.chance(), now + LEASE)
            return dropped

    def next_pairs(self, rater: str, tab: str, holding: Sequence[str]) -> list[dict[str, Any]]:
        """Return the pairs that a page lacks, where it holds some already: leased earlier, or the
        most telling ones.
        """
        with self._lock:
            self._refreshed()
            now = time.monotonic()
            mine = self._leases[rater, tab]
            for key in [key for key in mine if key in self._done[rater]]:
                del mine[key]
            for key in holding:
                if key in mine:
                    mine[key].until = now + LEASE
            offered = [key for key in mine if key not in holding]
            ahead = AHEAD if now > self._all_back else 1
            while len(offered) + len(holding) < ahead:
                new = self._known_pair(rater, now) or self._choose(rater, {*holding, *offered}, now)
                if new is None:
                    break
                mine[new] = Lease(self._chooser.chance(), now + LEASE)
                offered.append(new)
            offered = offered[: max(ahead - len(holding), 0)]
            return [self._shown(key, mine[key].left_is_a) for key in offered]

    def spare_pairs(self, rater: str, n: int, held: Sequence[str]) -> list[dict[str, Any]]:
        """Return up to n pairs at random for the time when the server cannot be asked; others may
        be asked them too.
        """
        with self._lock:
            allowed = self._allowed(rater, set(held), time.monotonic())
            drawn = np.random.default_rng().permutation(allowed)[: max(0, min(n, SPARE))]
            return [
                self._shown(self.candidates.pairs[i].key, self._chooser.chance()) for i in drawn
            ]

    def save(
        self, rater: str, tab: str, answers: Sequence[Any]
    ) -> tuple[list[str], list[dict[str, str]]]:
        """Write answers to the log; return the ids that are saved, and those that have no meaning,
        with reasons.

        Raises NotSaved if nothing could be written.
        """
        with self._lock:
            self._refreshed()
            saved: list[str] = []
            refused: list[dict[str, str]] = []
            new: dict[str, Verdict] = {}
            to_settle: list[Mapping[str, Any]] = []
            for answer in answers:
                name = answer.get("id") if isinstance(answer, dict) else None
                try:
                    verdict = self._verdict(answer, rater, new)
                    is_new = verdict["id"] not in self.log.verdicts and verdict["id"] not in new
                    if is_new:
                        self._refuse_second(answer, rater, new)
                except Refused as error:
                    refused.append({"id": str(name)[:64], "reason": str(error)})
                    continue
                saved.append(verdict["id"])
                if is_new:
                    new[verdict["id"]] = verdict
                    to_settle.append(answer)
            if new:
                self.log.append(list(new.values()))
                for answer in to_settle:
                    self._settle(rater, tab, answer)
                self._count()
            return saved, refused

    def _refuse_second(
        self, answer: Mapping[str, Any], rater: str, new: Mapping[str, Verdict]
    ) -> None:
        """Raise Refused if a verdict of this rater on the pair stands, unless the answer undoes
        one.
        """
        gone = {verdict["supersedes"] for verdict in new.values()}
        standing = [
            v
            for v in (*self.log.standing(), *new.values())
            if v["id"] not in gone and not v["supersedes"]
        ]
        if answer["choice"] != "undo" and answer["pair"] in {
            _key(v) for v in standing if v["rater"] == rater
        }:
            raise Refused("you have judged this pair already, in another tab")

    def progress(self, rater: str) -> dict[str, Any]:
        """Return what a rater may know: own verdicts, those of all, and how many are about wanted,
        from and to.
        """
        with self._lock:
            skips = [
                verdict["winner"] == "open"
                for verdict in self._standing
                if verdict["rater"] == rater
            ]
            judged = len(skips) - sum(skips)
            counts = {"judged": judged, "skipped": sum(skips), "all": self._n, "goal": self.goal()}
            enough = self.learned.latest.enough(self.rules.width)
            return {**counts, "enough": enough, "changes": self.log.changes}

    def goal(self) -> tuple[int, int] | None:
        """Return about how many verdicts are wanted, from and to, at most as many as the candidates
        allow.

        None if nobody can tell yet.
        """
        with self._lock:
            wanted = self.learned.latest.wanted(self._n)
            most = self._n + self._to_come()
            return None if wanted is None else (min(wanted[0], most), min(wanted[1], most))

    def nothing_left(self, rater: str) -> str:
        """Return why there is no pair to ask, and what to do next."""
        if self._leased(time.monotonic(), None) and self._allowed(rater, set(), math.inf).size:
            return "The last pairs are out with other raters. Wait a moment: they come back if nobody judges them."
        short = self.short()
        before = (
            f" before the goal, which is {number_of(short, 'verdicts')} away or more"
            if short
            else ""
        )
        return (
            f"Every pair is judged{before}. Thank you! Next: {self.next_command(self.log.path.name)} - or start "
            "the page again with more candidates, or with a higher --redundancy to ask more raters about each pair."
        )

    def next_command(self, path: PathLike, proxy: PathLike | None = None) -> str:
        """Return the command that learns what the page shows; it has the scale where no verdict has
        the top grade.
        """
        log = self.preferences()
        lacking = log is not None and max(log.preferred.max(), log.other.max()) + 1 < log.n_grades
        scale = f" --grades {self.candidates.n_grades}" if lacking else ""
        proxied = "" if proxy is None else f" --proxy {proxy}"
        return f"dcglearn learn {path}{proxied}{scale} -o dcg.json"

    def short(self) -> int:
        """Return about how many verdicts the candidates lack for bands, and for narrow ones; 0 if
        enough or unknown.
        """
        with self._lock:
            latest = self.learned.latest
            wanted = latest.wanted(self._n)
            fewest = (
                wanted[0]
                if wanted and not latest.enough(self.rules.width)
                else self.learned.bands_from
            )
            return max(fewest - self._n - self._to_come(), 0)

    def _to_come(self) -> int:
        """Return how many verdicts the candidates still allow."""
        return sum(
            max(self.rules.redundancy - len(self._raters_of[key]), 0)
            for key in self.candidates.index
        )

    @property
    def n_verdicts(self) -> int:
        """Number of verdicts that count: without pairs that were skipped, practice and checks."""
        with self._lock:
            return self._n

    def standing(self) -> list[Verdict]:
        """Return the verdicts that count, and the pairs that were skipped, in order."""
        with self._lock:
            return list(self._standing)

    def preferences(self) -> Preferences | None:
        """Return the verdicts that count as a log, on the candidates' scale; None before the
        first.
        """
        with self._lock:
            counted = [verdict for verdict in self._standing if verdict["winner"] != "open"]
        return as_log(counted, self.candidates.n_grades) if counted else None

    def _refreshed(self) -> None:
        """Read the log again if another program changed it; raises NotSaved if it can no longer be
        read.
        """
        if not self.log.refresh():
            return
        try:
            self._check_shape()
        except InputError as error:
            raise NotSaved(f"the log was changed by another program: {error}") from error
        self._keys.clear()
        self._count()

    def _check_shape(self) -> None:
        depth, n_grades = self.candidates.depth, self.candidates.n_grades
        for verdict in self.log.verdicts.values():
            place = f"{self.log.path}, verdict {verdict['id']}"
            for side in ("a", "b"):
                grades = verdict[side]
                if (
                    not all(type(grade) is int and grade >= -1 for grade in grades)
                    or len(grades) != depth
                ):
                    raise InputError(
                        f"{place}: {side} = {grades}, where the candidates have {depth} grades; name another log, or "
                        "give the candidates this log was made with"
                    )
                if max(grades) >= n_grades:
                    raise InputError(
                        f"{place}: {side} holds grade {max(grades)}, the candidates 0 to {n_grades - 1}; name another "
                        f"log, or --grades {max(grades) + 1} if the scale is the same"
                    )
            if verdict["winner"] not in ("a", "b", "tie", "open"):
                raise InputError(f"{place}: winner is {verdict['winner']!r}; use a, b, tie or open")

    def _count(self) -> None:
        """Count who has judged what, and hand the log to the learner."""
        standing = self.log.standing()
        self._standing = [verdict for verdict in standing if verdict["check"] is None]
        self.checks = [verdict for verdict in standing if verdict["check"] is not None]
        self._done: dict[str, set[str]] = defaultdict(set)
        self._raters_of: dict[str, set[str]] = defaultdict(set)
        for verdict in standing:
            key = self._keys.get(verdict["id"]) or self._keys.setdefault(
                verdict["id"], _key(verdict)
            )
            self._done[verdict["rater"] or ""].add(key)
            if verdict["winner"] != "open":
                self._raters_of[key].add(verdict["rater"] or "")
        self._n = sum(verdict["winner"] != "open" for verdict in self._standing)
        self.learned.give(self.preferences())

    def _held(self, now: float) -> list[tuple[str, str]]:
        """Return the rater and the pair of each lease that has not ended."""
        return [
            (r, key)
            for (r, _), held in self._leases.items()
            for key, x in held.items()
            if x.until > now
        ]

    def _leased(self, now: float, rater: str | None) -> Counter[str]:
        """Return how many pages of others, who have not judged it, hold each pair."""
        return Counter(
            key for other, key in self._held(now) if other not in (rater, *self._raters_of[key])
        )

    def _allowed(self, rater: str, held: set[str], now: float) -> Any:
        """Return the numbers of the pairs that may be asked of a rater who holds some already."""
        leased, done, wanted = self._leased(now, rater), self._done[rater], self.rules.redundancy
        allowed = [
            number
            for key, number in self.candidates.index.items()
            if key not in done
            and key not in held
            and len(self._raters_of[key] - {rater}) + leased[key] < wanted
        ]
        return np.array(allowed, dtype=np.intp)

    def _known_pair(self, rater: str, now: float) -> str | None:
        """Return a pair with a known answer if it is time for one: in the practice round, later by
        chance.
        """
        taken = self._done[rater] | {key for other, key in self._held(now) if other == rater}
        key = next((key for key in self._known if key not in taken), None)
        return key if key in self._practice or self._chooser.chance(self.rules.checks) else None

    def _choose(self, rater: str, held: set[str], now: float) -> str | None:
        """Return the pair to ask next; pairs that others began are completed first."""
        leased = self._held(now)
        allowed = self._allowed(rater, held | {key for other, key in leased if other == rater}, now)
        if not len(allowed):
            return None
        pairs = self.candidates.pairs
        begun = [number for number in allowed if self._raters_of[pairs[number].key]]
        chosen = np.array(begun, dtype=np.intp) if begun else allowed
        out = [self.candidates.index[key] for _, key in leased if key not in self._known]
        if self.rules.balanced:
            counts = Counter(
                [verdict["query"] or "" for verdict in self._standing]
                + [pairs[i].query for i in out]
            )
            times = np.array([counts[pairs[i].query] for i in chosen])
            chosen = chosen[times == times.min()]
        asked = [(v["a"], v["b"]) for v in self._standing if v["winner"] != "open"] + [
            (pairs[i].a, pairs[i].b) for i in out
        ]
        lists = np.array(asked, np.int8).reshape(-1, 2, self.candidates.depth)
        return pairs[self._chooser.choose(chosen, self.learned.latest, lists)].key

    def _shown(self, key: str, left_is_a: bool) -> dict[str, Any]:
        """Return a pair as a page shows it: no scores, no systems, and grades only where there is
        nothing else.
        """
        pair = self._pairs[key]
        sides = [
            {"grades": list(grades)}
            if items is None
            else {"items": seen_items(items, images=self.rules.images)}
            for grades, items in ((pair.a, pair.items_a), (pair.b, pair.items_b))
        ]
        left, right = sides if left_is_a else sides[::-1]
        shown = {"pair": key, "query": pair.text or pair.query, "intent": pair.intent}
        if key in self._practice:
            shown["practice"] = "left" if left_is_a else "right"
        return {**shown, "left": left, "right": right, "shown_left": "a" if left_is_a else "b"}

    def _settle(self, rater: str, tab: str, answer: Mapping[str, Any]) -> None:
        """Give a judged pair back; lease a pair whose verdict was undone again."""
        key = answer["pair"]
        for (other, _), leases in self._leases.items():
            if other == rater:
                leases.pop(key, None)
        if answer["choice"] == "undo":
            lease = Lease(answer["shown_left"] == "a", time.monotonic() + LEASE)
            self._leases[rater, tab] = {key: lease, **self._leases[rater, tab]}

    def _verdict(self, answer: Any, rater: str, new: Mapping[str, Verdict]) -> Verdict:
        """Return the line of an answer; raise Refused if it has no meaning."""
        if not isinstance(answer, dict):
            raise Refused("not an object")
        name, choice, left = (str(answer.get(field)) for field in ("id", "choice", "shown_left"))
        if not _ID.fullmatch(name):
            raise Refused("the id is not 8 to 64 letters and digits")
        pair = self._pairs.get(str(answer.get("pair")))
        if pair is None:
            raise Refused("the pair is not among the candidates of this study")
        if choice not in CHOICES or left not in ("a", "b"):
            raise Refused("no such answer")
        supersedes = answer.get("supersedes")
        if choice == "undo":
            supersedes = str(supersedes)
            target = self.log.verdicts.get(supersedes) or new.get(supersedes)
            if target is None or target["rater"] != rater:
                raise Refused("the verdict to undo is not in the log")
        elif supersedes is not None:
            raise Refused("only an undo supersedes a verdict")
        winner, tie = CHOICES[choice]
        if winner in ("left", "right"):
            winner = "a" if (winner == "left") == (left == "a") else "b"
        check = None
        if pair.key in self._known:  # never a judgement
            kind, right = (
                "practice" if pair.key in self._practice else "check",
                "right" if winner == "a" else "wrong",
            )
            winner, tie, check = "open", None, f"{kind} {right}"
        line = {
            "id": name,
            **_columns(pair),
            "winner": winner,
            "tie": tie,
            "strength": self._strength(answer.get("strength"), winner),
            "shown_left": left,
            "rater": rater,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": answer.get("seconds"),
            "note": answer.get("note"),
            "supersedes": supersedes,
            "check": check,
        }
        try:
            check_fields(line)
        except InputError as error:
            raise Refused(str(error)) from error
        return line

    def _strength(self, strength: Any, winner: str) -> int | None:
        if winner not in ("a", "b") or self.rules.strengths == 1:
            return None
        if type(strength) is not int or not 1 <= strength <= self.rules.strengths:
            raise Refused(f"the strength of preference is 1 to {self.rules.strengths}")
        return strength


def as_log(verdicts: Sequence[Verdict], n_grades: int) -> Preferences:
    """Return verdicts with an answer as `read_preferences` returns them, on a scale of
    `n_grades`.
    """
    won = [(v["b"], v["a"]) if v["winner"] == "b" else (v["a"], v["b"]) for v in verdicts]
    labels = {name: [v.get(name) or "" for v in verdicts] for name in ("rater", "query", "time")}
    columns: dict[str, Any] = {name: values for name, values in labels.items() if any(values)}
    if any(v["strength"] is not None for v in verdicts):
        columns["strength"] = [1.0 if v["strength"] is None else v["strength"] for v in verdicts]
    tie = [v["winner"] == "tie" for v in verdicts]
    if all(v["shown_left"] for v in verdicts):
        columns["swapped"] = [
            v["shown_left"] != ("b" if v["winner"] == "b" else "a") for v in verdicts
        ]
    return Preferences(
        np.array(won, np.int8), n_grades=n_grades, tie=tie if any(tie) else None, **columns
    )


def _key(verdict: Verdict) -> str:
    return pair_key(
        verdict["query"] or "", *(verdict[name] for name in ("a", "b", "items_a", "items_b"))
    )


def _columns(pair: Pair) -> dict[str, Any]:
    sides = {name: getattr(pair, name) for name in ("a", "b", "items_a", "items_b")}
    return {
        "query": pair.query or None,
        **{name: None if side is None else list(side) for name, side in sides.items()},
    }
