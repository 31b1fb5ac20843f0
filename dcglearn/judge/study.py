"""A study: candidates, raters and the log of verdicts; what is asked of whom, and what it does."""

import hashlib
import threading
import time
from collections import ChainMap, Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import counted, stage
from dcglearn.foundation.validation import (
    Fields,
    InputError,
    Integers,
    PathLike,
    whole_number,
    within,
)
from dcglearn.judge.candidates import Candidates, Pair, known_pairs, seen_items
from dcglearn.judge.learned import Learned, most_informative
from dcglearn.judge.page_answers import AnswerReader, Refused
from dcglearn.judge.verdict_log import NotSaved, Verdict, VerdictLog, as_log, key_of, standing
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.preferences import Preferences


@dataclass(frozen=True)
class Rules:
    """How a study is run.

    `raters` are the names allowed, empty for any; each pair is asked of `redundancy` raters;
    `active` is false for pairs at random; `balanced` asks all queries about equally often;
    `strengths` is the number of strengths of preference; `width` is the width of the widest band at
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
        # how many raters are asked
        whole_number(self.redundancy, "redundancy", remedy="each pair is asked of a rater or more")
        if self.raters and self.redundancy > len(self.raters):
            raise InputError(
                f"redundancy={self.redundancy} for {len(self.raters)} raters; name more raters"
            )

        # what they are asked
        whole_number(self.strengths, "strengths", 1, 5, "1 is which list is better")
        if not 0 <= self.checks <= 0.5:
            raise InputError(
                f"checks={self.checks}: give the share of pairs with a known answer, from 0 to 0.5"
            )
        within(self.width, "width", 1, "bands are on gains from 0 to 1", above=True, below=True)


@dataclass
class Lease:
    """A pair that a page holds."""

    left_is_a: bool
    until: float


class Study:
    """Candidates, rules, and the log of what was said; safe to call from several threads.

    An existing log of verdicts is continued. Raises InputError if it is not one of this page, or
    its lists are of another depth or scale. The `machine`, the DCG of an LLM judge, is used as
    `DCGLearner.fit` does; no rater hears of it.
    """

    lease = 600.0
    """Seconds for which a pair shown to one rater is not offered to another."""

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

        # pairs, and who holds them
        self._rng = np.random.default_rng(self.rules.seed)
        self._leases: dict[tuple[str, str], dict[str, Lease]] = defaultdict(dict)
        self._known = {pair.key: pair for pair in known_pairs(candidates)}
        practice = [*self._known][: 3 * self.rules.practice]
        self._kinds = dict.fromkeys(self._known, "check") | dict.fromkeys(practice, "practice")
        self._pairs = {pair.key: pair for pair in candidates.pairs} | self._known
        self._answers = AnswerReader(
            self._pairs, self._kinds, self.rules.strengths, candidates.grade_names
        )
        self._keys: dict[str, str] = {}  # the pair that each verdict is about

        # after a restart, pages first tell for a minute which pairs they hold
        self._all_back = time.monotonic() + 60.0 if self.log.verdicts else 0.0
        try:
            self.log.check_shape(candidates)
        except InputError:
            self.log.close()
            raise
        self.learned = Learned(candidates.n_grades, candidates.depth, machine, self.rules.width)
        self._count()

    @property
    def name(self) -> str:
        """A digest of the log's place, which tells the unsaved verdicts of studies apart."""
        return hashlib.sha256(str(self.log.path.resolve()).encode()).hexdigest()[:12]

    def close(self) -> None:
        """End the learning, and release the log."""
        self.learned.close()
        self.log.close()

    def rater(self, name: Any) -> str:
        """Return a rater's name; raise Refused if there is no such rater."""
        if not isinstance(name, str) or len(name) > 60 or not name.isprintable():
            name = ""
        name = name.strip()
        if not name:
            raise Refused("give a name of 1 to 60 characters")
        if self.rules.raters and name not in self.rules.raters:
            raise Refused(f"{name} is not one of the raters of this study")
        return name

    def leased_again(self, rater: str, tab: str, holding: Sequence[str]) -> list[str]:
        """Lease the pairs that a page holds without a lease, and return those that it should drop.

        Such pairs are from before a restart of the server, or for bad times. A page drops what
        enough other raters have judged or hold by now, but not the first, which is on the screen.
        """
        with self._lock:
            self._refreshed()
            mine, leased = self._leases[rater, tab], self._leased(rater)

            # drop what others do, lease the rest
            dropped = []
            for i, key in enumerate(holding):
                if key in mine or key not in self._pairs or key in self._done[rater]:
                    continue
                if i and len(self._raters_of[key] - {rater}) + leased[key] >= self.rules.redundancy:
                    dropped.append(key)
                else:
                    mine[key] = self._new_lease()
            return dropped

    def next_pairs(self, rater: str, tab: str, holding: Sequence[str]) -> list[Fields]:
        """Return the pairs that a page lacks: leased earlier, or the most telling ones."""
        with self._lock:
            self._refreshed()
            now = time.monotonic()

            # leases that have ended, and those that go on
            mine = self._leases[rater, tab]
            for key in self._done[rater] & mine.keys():
                del mine[key]
            for key in mine.keys() & {*holding}:
                mine[key].until = now + self.lease

            # a page holds the pair shown and two more
            offered = [key for key in mine if key not in holding]
            ahead = 3 if now > self._all_back else 1
            while len(offered) + len(holding) < ahead:
                new = self._known_pair(rater) or self._choose(rater, {*holding, *offered})
                if new is None:
                    break
                mine[new] = self._new_lease()
                offered.append(new)
            offered = offered[: max(ahead - len(holding), 0)]
            return [self._shown(key, mine[key].left_is_a) for key in offered]

    def spare_pairs(self, rater: str, n: int, held: Sequence[str]) -> list[Fields]:
        """Return up to n pairs, at most 20, at random for the time without a server.

        Others may be asked them too.
        """
        with self._lock:
            allowed = self._allowed(rater, set(held), self._leased(rater))
            drawn = np.random.default_rng().permutation(allowed)[: max(0, min(n, 20))]
            keys = [self.candidates.pairs[i].key for i in drawn]
            return [self._shown(key, self._chance()) for key in keys]

    def in_order(self, most: int | None = None) -> list[tuple[Pair, int]]:
        """Return the pairs to ask, at most `most`, each with the number of raters to ask.

        They are in the order in which raters would be asked if the DCG learned so far stayed.
        """
        lacking = np.array(
            [self.rules.redundancy - len(self._raters_of[key]) for key in self.candidates.index]
        )
        self.learned.wait()

        # one after the other, given those before it
        chosen: list[int] = []
        n = min(int((lacking > 0).sum()), most or len(lacking))
        with stage("choose"):
            for _ in counted(range(n), n, "pairs"):
                left = np.setdiff1d(np.flatnonzero(lacking > 0), chosen)
                chosen.append(self._best(left, [self.candidates.pairs[i] for i in chosen]))
        return [(self.candidates.pairs[i], int(lacking[i])) for i in chosen]

    def known(self) -> list[tuple[Pair, str]]:
        """Return the pairs with a known answer, and what each is for: practice or check."""
        return [(pair, self._kinds[key]) for key, pair in self._known.items()]

    def save(
        self, rater: str, tab: str, answers: Sequence[Any]
    ) -> tuple[list[str], list[dict[str, str]]]:
        """Write answers to the log; return the ids that are saved, and the others with reasons.

        Raises NotSaved if nothing could be written.
        """
        with self._lock:
            self._refreshed()
            saved: list[str] = []
            refused: list[dict[str, str]] = []
            new: dict[str, Verdict] = {}
            said = ChainMap(new, self.log.verdicts)
            for answer in answers:
                # refuse what has no meaning, or comes a second time
                try:
                    verdict = self._answers.verdict(answer, rater, said)
                    if verdict["id"] not in said:
                        self._refuse_second(verdict, new)
                        new[verdict["id"]] = verdict
                except Refused as error:
                    name = answer.get("id") if isinstance(answer, dict) else None
                    refused.append({"id": str(name)[:64], "reason": str(error)})
                    continue
                saved.append(verdict["id"])

            # write at once those that are not saved already
            if new:
                self.log.append(list(new.values()))
                for verdict in new.values():
                    self._settle(tab, verdict)
                self._count()
            return saved, refused

    def _refuse_second(self, verdict: Verdict, new: Mapping[str, Verdict]) -> None:
        """Raise Refused if a verdict of the rater on the pair stands, unless this undoes one."""
        if verdict["supersedes"]:
            return
        key, gone = key_of(verdict), {other["supersedes"] for other in new.values()}
        for other in (*standing(self.log.verdicts.values()), *new.values()):
            stands = other["id"] not in gone and not other["supersedes"]
            if stands and other["rater"] == verdict["rater"] and key_of(other) == key:
                raise Refused("you have judged this pair already, in another tab")

    def progress(self, rater: str) -> Fields:
        """Return what a rater may know: own verdicts, those of all, and how many are wanted."""
        with self._lock:
            own = Counter(v["winner"] == "open" for v in self.standing if v["rater"] == rater)
            return {
                "judged": own[False],
                "skipped": own[True],
                "all": self.n_verdicts,
                "goal": self.goal(),
                "enough": self.learned.latest.enough(self.rules.width),
                "changes": self.log.changes,
            }

    def goal(self) -> tuple[int, int] | None:
        """Return about how many verdicts are wanted, from and to; None if nobody can tell yet.

        They are at most as many as the candidates allow.
        """
        with self._lock:
            wanted = self.learned.latest.wanted(self.n_verdicts)
            if wanted is None:
                return None
            most = self.n_verdicts + self._to_come()
            return min(wanted[0], most), min(wanted[1], most)

    def nothing_left(self, rater: str) -> str:
        """Return why there is no pair to ask, and what to do next."""
        if self._leased(None) and self._allowed(rater, set(), Counter()).size:
            return (
                "The last pairs are out with other raters. Wait a moment: they come back if "
                "nobody judges them."
            )
        before = ""
        if short := self.short():
            before = f" before the goal, which is {number_of(short, 'verdicts')} away or more"
        command = self.next_command(self.log.path.name)
        return (
            f"Every pair is judged{before}. Thank you! Next: {command} - or start the page again "
            "with more candidates, or with a higher --redundancy to ask more raters about each "
            "pair."
        )

    def next_command(self, path: PathLike, llm: PathLike | None = None) -> str:
        """Return the command that learns what the page shows, with a scale that verdicts lack."""
        log = self.preferences()
        lacking = log is not None and max(log.preferred.max(), log.other.max()) + 1 < log.n_grades
        lacking &= self.candidates.grade_names is None  # a scale that the log does not state
        scale = f" --grades {self.candidates.n_grades}" if lacking else ""
        beside = "" if llm is None else f" --llm {llm}"
        return f"dcglearn learn {path}{beside}{scale} -o dcg.json"

    def short(self) -> int:
        """Return about how many verdicts the candidates lack for narrow bands, or any; else 0."""
        with self._lock:
            latest, fewest = self.learned.latest, self.learned.bands_from
            wanted = latest.wanted(self.n_verdicts)
            if wanted and not latest.enough(self.rules.width):
                fewest = wanted[0]
            return max(fewest - self.n_verdicts - self._to_come(), 0)

    def _to_come(self) -> int:
        """Return how many verdicts the candidates still allow."""
        wanted, raters_of = self.rules.redundancy, self._raters_of
        return sum(max(wanted - len(raters_of[key]), 0) for key in self.candidates.index)

    def preferences(self) -> Preferences | None:
        """Return the verdicts that count as a log, on the candidates' scale; None without any."""
        with self._lock:
            counted = [verdict for verdict in self.standing if verdict["winner"] != "open"]
        return as_log(counted, self.candidates.n_grades) if counted else None

    def _refreshed(self) -> None:
        """Read the log again if another program changed it; raise NotSaved if it is damaged."""
        if not self.log.refresh():
            return
        try:
            self.log.check_shape(self.candidates)
        except InputError as error:
            raise NotSaved(f"the log was changed by another program: {error}") from error
        self._keys.clear()
        self._count()

    def _count(self) -> None:
        """Count who has judged what, and hand the log to the learner.

        `standing` holds the verdicts that count, and the pairs that were skipped, in order;
        `n_verdicts` is the number of the former; `checks` are those of practice and checks.
        """
        counting = standing(self.log.verdicts.values())
        self.standing = [verdict for verdict in counting if verdict["check"] is None]
        self.checks = [verdict for verdict in counting if verdict["check"] is not None]
        self.n_verdicts = sum(verdict["winner"] != "open" for verdict in self.standing)

        # pairs by rater, and raters by pair
        self._done: dict[str, set[str]] = defaultdict(set)
        self._raters_of: dict[str, set[str]] = defaultdict(set)
        for verdict in counting:
            name, rater = verdict["id"], verdict["rater"] or ""
            if name not in self._keys:
                self._keys[name] = key_of(verdict)
            key = self._keys[name]
            self._done[rater].add(key)
            if verdict["winner"] != "open":
                self._raters_of[key].add(rater)

        self.learned.give(self.preferences())

    def _chance(self, share: float = 0.5) -> bool:
        """Draw whether something happens that does in this share of the cases."""
        return share > 0 and bool(self._rng.random() < share)

    def _new_lease(self) -> Lease:
        return Lease(self._chance(), time.monotonic() + self.lease)

    def _held(self) -> list[tuple[str, str]]:
        """Return the rater and the pair of each lease that has not ended."""
        return [
            (rater, key)
            for (rater, _), leases in self._leases.items()
            for key, lease in leases.items()
            if lease.until > time.monotonic()
        ]

    def _leased(self, rater: str | None) -> Counter[str]:
        """Return how many pages of others, who have not judged it, hold each pair."""
        return Counter(
            key for other, key in self._held() if other not in (rater, *self._raters_of[key])
        )

    def _allowed(self, rater: str, held: set[str], leased: Counter[str]) -> Any:
        """Return the numbers of the pairs that may be asked of a rater who holds some already.

        `leased` says how many others hold each pair.
        """
        taken, wanted = self._done[rater] | held, self.rules.redundancy
        allowed = [
            number
            for key, number in self.candidates.index.items()
            if key not in taken and len(self._raters_of[key] - {rater}) + leased[key] < wanted
        ]
        return np.array(allowed, dtype=np.intp)

    def _known_pair(self, rater: str) -> str | None:
        """Return a pair with a known answer, in the practice round, or later by chance."""
        taken = self._done[rater] | {key for other, key in self._held() if other == rater}
        key = next((key for key in self._known if key not in taken), None)
        asked = self._kinds.get(key or "") == "practice" or self._chance(self.rules.checks)
        return key if asked else None

    def _choose(self, rater: str, held: set[str]) -> str | None:
        """Return the pair to ask next; pairs that others began are completed first."""
        leased = self._held()
        own = {key for other, key in leased if other == rater}
        allowed = self._allowed(rater, held | own, self._leased(rater))
        if not len(allowed):
            return None
        pairs = self.candidates.pairs
        begun = [number for number in allowed if self._raters_of[pairs[number].key]]
        chosen = np.array(begun, dtype=np.intp) if begun else allowed
        out = [pairs[self.candidates.index[key]] for _, key in leased if key not in self._known]
        return pairs[self._best(chosen, out)].key

    def _best(self, chosen: Integers, out: Sequence[Pair]) -> int:
        """Return the number of the pair to ask next, given those that are judged or out."""
        pairs = self.candidates.pairs

        # queries that were asked least
        if self.rules.balanced:
            times = Counter(verdict["query"] or "" for verdict in self.standing)
            times.update(pair.query for pair in out)
            asked_before = np.array([times[pairs[i].query] for i in chosen])
            chosen = chosen[asked_before == asked_before.min()]

        # the most informative ones, of which chance takes one
        if self.rules.active:
            asked = [(v["a"], v["b"]) for v in self.standing if v["winner"] != "open"]
            asked += [(pair.a, pair.b) for pair in out]
            lists = np.array(asked, np.int8).reshape(-1, 2, self.candidates.depth)
            latest = self.learned.latest
            chosen = most_informative(chosen, self.candidates.lists, latest, lists, self._rng)
        return int(self._rng.choice(chosen))

    def _shown(self, key: str, left_is_a: bool) -> Fields:
        """Return a pair as a page shows it: without scores and systems, grades only if need be."""
        pair = self._pairs[key]
        sides: list[Fields] = []
        for grades, items in ((pair.a, pair.items_a), (pair.b, pair.items_b)):
            if items is None:
                sides.append({"grades": list(grades)})
            else:
                sides.append({"items": seen_items(items, images=self.rules.images)})
        left, right = sides if left_is_a else sides[::-1]

        # what stands above and below the lists
        shown = {"pair": key, "query": pair.text or pair.query, "intent": pair.intent}
        if self._kinds.get(key) == "practice":
            shown["practice"] = "left" if left_is_a else "right"
        return {**shown, "left": left, "right": right, "shown_left": "a" if left_is_a else "b"}

    def _settle(self, tab: str, verdict: Verdict) -> None:
        """Give a judged pair back; lease a pair whose verdict was undone again."""
        key, rater = key_of(verdict), verdict["rater"]
        for (other, _), leases in self._leases.items():
            if other == rater:
                leases.pop(key, None)
        if verdict["supersedes"]:
            lease = Lease(verdict["shown_left"] == "a", time.monotonic() + self.lease)
            self._leases[rater, tab] = {key: lease, **self._leases[rater, tab]}
