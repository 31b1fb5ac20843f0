"""Pages and table of all claims.

``docs/claims.md`` holds the papers' claims, ``docs/our_claims.md`` our own on learning, and
``docs/claims_rankers.md`` our own on rankers and those on few real queries; `summary_table` holds
all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from simulations.claims import (
    CANNOT_FAIL,
    CLOSE,
    FAILS,
    LEVEL,
    NEGLIGIBLE,
    PRECISE,
    VERDICTS,
    Claim,
)
from simulations.findings import FINDINGS, Finding
from simulations.ranking_data import RATIOS, REAL
from simulations.reasons import reason

Claims = Mapping[str, Sequence[Claim]]
"""The claims of each program, by its stem."""

PAPERS = {
    "zhou": "Zhou, Zha, Xue and Yu 2008: learning gains and discounts from preferences",
    "qin": "Qin, Liu and Li 2010: ApproxNDCG and ApproxAP",
    "chapelle-wu": "Chapelle and Wu 2010: SmoothNDCG and annealing",
    "sun": "Sun, Qin, Tao and Wang 2009: RSRank, a sparse linear ranker",
    "wu": "Wu, Chang, Zheng and Zha 2009: trees on smoothed hinge ranks",
    "ours": "What we claim beyond the papers, of learning",
}
"""Titles of the papers, and of our claims."""

SHORT = {"zhou": "Zhou", "qin": "Qin", "chapelle-wu": "Chapelle and Wu", "sun": "Sun", "wu": "Wu"}
"""Names of the papers in the table of real queries."""

RANKERS, FEW = "rankers", "few"
"""Tables of our claims on rankers and experiments, and of claims on 251 real queries."""

OF_RANKED = ("study_p_", "study_q_", "study_r_", "study_u_", "study_aa_", "study_ab_")
"""Beginnings of the names of studies of rankers, systems and experiments with them."""

TEST, REST, TRAIN = (RATIOS[part] for part in ("test", "validation and test", "train"))
"""Ratios of the correction of Nadeau and Bengio."""

SPELLED = {
    "LETOR-shaped, no conflict": "`conflict=0`",
    "LETOR-shaped": "`conflict=1`",
    REAL: "LightGBM",
}
"""Names of queries on the page, by their names in the claims.

For LETOR-shaped queries, the name on the page says how much metrics conflict.
"""

HEAD = """# Claims of the papers, tested

Five papers say how to learn a ranking metric from preferences, and how to train rankers on one. \
We ran what they claim,
and what we claim ourselves of [learning](our_claims.md) and of [rankers](claims_rankers.md): \
of {total} claims that a run can contradict
{holds} hold, {condition} hold with a condition, {fails} do not hold, and {undecided} are \
undecided. {sure} more cannot fail, and are not counted.

"""

OURS = """# What we claim beyond the papers

Our own methods, by \
[the rule](claims.md#the-rule) and in [the words](claims.md#the-words) of the papers' claims. \
All judges and users are simulated; \
[rankers and experiments](claims_rankers.md) have a page of their own. \
Studies g, i and j answer what Zhou et al. leave open (sections 7, 6.5, 5.2).

- **C** weighs errors against size in the QP; **QP + SVD**: \
gains and discounts split from the utility it learns;
  **`DCGLearner`**: ours, a blend of its **robust fit** and others.
- **identifiable similarity** leaves out what pairs cannot show, as a constant added to all \
discounts on permutations.
- **binary1-log2**, **binary2-log2**, **linear-log2**, **exponential-log2**: textbook DCGs with \
discounts 1 / log2(rank + 1)
  and gains 1 from grade 1 or 2 on, grade, and 2^grade - 1.
- **D1, D2, textbook truth**: order lists as two textbooks of the learner's blend do; \
**another**, **flat, steep, random, smooth truth**: as no textbook does.
- **judges** of study z, each wrong on 15%: **careless** on any pair, **graded** on close pairs, \
**one-sided** by always saying left, **mixed** by a third each.

"""

OF_RANKERS = """# Rankers and experiments: our claims, and those on 251 real queries

By [the rule](claims.md#the-rule) and in [the words](claims.md#the-words) of the papers' claims.

- **flat, steep truth**: a users' DCG by which any relevant result will do, or only the best count.
- **"Qin, table 5"** and the like: near a paper's place, but not what the paper says. \
Qin et al. compare alpha = 50, 100 and 300 with 100 starts, not 3; they raise alpha with the \
number of documents, and keep the scores' distance in equation 21. Chapelle and Wu use their \
bound for its slope, and collections not made so that metrics conflict. Wu et al. give the \
weights of 3.3, and no tree at which an order must have improved.

"""

FEW_HEAD = """
## LightGBM's example

Its 251 queries are split anew by each repeat: most of these rows \
no number of splits would decide. {old}They are counted apart from those of the papers.

"""

FINDINGS_HEAD = """
Ten findings:

"""

RULE = f"""
## The rule

A claim states beforehand what is compared, in which direction, and by how much. \
Each experiment is repeated with
new random data, the same for both sides, so that every repeat gives one difference. \
From these come the mean and its
{LEVEL:.0%} interval, by Student's t; of shares of yes or no by Clopper and Pearson, exactly. \
The LightGBM example has
only 251 queries, which repeats split anew, so that its repeats are not independent: \
Nadeau and Bengio's correction
widens its intervals, with {TEST:.2g} test queries for each training query \
({REST:.2g} for trees; for values of the
training queries themselves, {TRAIN:.2g} of them for each other query).

- **holds**: the whole interval lies where the claim says;
- **does not hold**: the whole interval lies elsewhere;
- **undecided**: the interval covers both;
- **holds with a condition**: the claim holds where the stated condition is met \
and does not hold elsewhere. Both
  are tested; below such a row, a row *elsewhere* shows the second test;
- **proved, by construction**: a theorem, or what the form of the experiment implies. \
It cannot fail: the run checks
  the program only.

That errors have a level *holds* if the lower end of the exact interval is at most the level and \
two errors of the study
at most {PRECISE}; it *does not hold* if the lower end is above.

"Close" means within {CLOSE}, "level" and "no worse" within {NEGLIGIBLE}; "worst of n" rows show,
of n settings, the one nearest to failing, each at 95%;
by Bonferroni's correction study r's team draft would have been undecided in the run before. \
Of a hundred verdicts a few are wrong by chance; \
near a bound, a new
run may turn "holds" into "undecided" or back. The rule is [one
function](../simulations/claims.py); \
tests on made-up tables show that every row can come out each way. All numbers:
[claims.csv](../figures/claims.csv).

**What was not stated beforehand.** \
Four rows on trees said "beats" until a run left three of them undecided, and say
"level" since; eight rows on LightGBM's lambdarank were then pooled into two. \
Some rows (theorem 3 at 1e4 and 1e6, sigma = 2^6, whole paths, 25 topics) \
were added to existing tables. \
Before the run below, whose repeats and bounds were fixed first, pooled rows of tests gave way to
rows by size, and rows by judge and by kind of truth were added. \
Rows that more repeats would decide got them (studies i and u, figures 1 to 4, truncation), \
except where that takes long (restarts, studies r, s, y: 50 to 90 repeats); \
to run all in an hour and a half, studies k, n, t, aa and ab have fewer. \
Of those that need thousands, eight went: \
study l (random steps, 1,000 pairs), r (rankings alike), s (a machine's worth: three), u (95% of \
users, 30 experiments), and ab's two worst of 8; restated as levels are D1's gains, \
two of study k (at least 85%) and reversed logs (at least 99%). Of the new \
programs, rows of studies ac and ad and the number of repeats of four others were set after \
trials with other seeds, and the two slopes of section 5.2 when the table of the run before \
was known.

"""

WORDS = """
## The words

- **D1, D2**: the true DCGs of Zhou et al.: ten positions (K = 10), five grades (L = 5), \
discounts 1 / log(rank +
  1); the gains of the grades are 1, 2, 3, 4, 5 in D1 and 1, 3, 7, 15, 31 in D2. \
Rows take both together unless they
  name one. [Picture](../figures/truths.png).
- **pair, flip**: two lists of which the true DCG prefers the first; \
a flipped pair is recorded the wrong way round.
- **permutations, free lists**: orders of the same ten documents (two of each grade), \
or any grade at any rank.
- **utility**: a worth for each grade at each position (K x L numbers); \
**QP**: the paper's way to learn it.
- **precision**: share of new clean pairs that the learned metric orders correctly. \
**Similarity**: cosine of the
  learned and the true utility.
- **`conflict=1`**: simulated queries shaped like LETOR's, *made so that metrics conflict*: \
what makes a result
  excellent, and what makes it safe, are features of their own, \
so that the best linear ranker depends on gains and
  discounts. With **`conflict=0`** all metrics prefer the same ranker. \
**LightGBM**: its example's 251 real queries.
  **Nonlinear queries**: simulated queries that only trees can rank.
- **alpha, beta, sigma**: sharpness of smoothed ranks (larger is sharper), \
of smoothed cut-offs, and width of
  smoothing. **gradients, lambdas**: \
what trees follow: slopes of the smoothed metric, or what swapping two documents
  would change in it.
"""

FOREST = """
## All differences

![Each claim's distance from its edge, by paper and verdict](../figures/claims.png)
"""

MISSING = """
## Claims that we do not test

- **Qin et al., tables 3 and 4; Chapelle and Wu, figures 3 and 4, table 2; \
Wu et al., table 1; Sun et al., figures 1
  and 2 on LETOR.** Those collections may not be copied here; \
`tests/simulations/letor` compares with the published numbers
  where a folder is named.
- **Qin et al., table 6, and section 5.4 (SoftRank is slower).** \
A time, not a difference over repeats: see
  [benchmarks](benchmarks.md).
- **Chapelle and Wu, figure 5.** Needs a Gaussian process and an older collection.
- **Wu et al., figure 2, on a commercial engine's queries.** Not public; \
the same comparisons on others are above.

Errors in the papers: [reproduce](reproduce.md#errors-in-the-papers).
"""


def pages(claims: Claims, changes: str = "", old: str = "") -> dict[str, str]:
    """Return the pages in Markdown, by the names of their files.

    `changes` is the text of `simulations.changes.section`, placed after the rule; `old` names the
    run of the rows on real queries, where it is an older one.
    """
    numbers = dict(
        zip(("holds", "condition", "fails", "undecided"), counts(claims).values(), strict=True)
    )
    few = f"Old rows are of the run {old}. " if old else ""
    head = HEAD.format(
        total=sum(numbers.values()), sure=sum(counts(claims, CANNOT_FAIL).values()), **numbers
    )
    findings = [FINDINGS_HEAD, *screen(claims)]
    papers = [line for paper in PAPERS if paper != "ours" for line in _table(claims, paper)]
    parts = [head, *_scoreboard(claims), *findings, RULE, changes, WORDS, *papers, FOREST, MISSING]
    rankers = [OF_RANKERS, *_rows(claims, RANKERS)]
    return {
        "claims.md": "".join(parts),
        "our_claims.md": "".join([OURS, *_rows(claims, "ours")]),
        "claims_rankers.md": "".join([*rankers, FEW_HEAD.format(old=few), *_rows(claims, FEW)]),
    }


def table_of(stem: str, claim: Claim) -> str:
    """Return the key of the table that shows a claim."""
    if REAL in claim.text:
        return FEW
    of_rankers = stem.startswith(("theory_", "train_", *OF_RANKED))
    return RANKERS if claim.paper == "ours" and of_rankers else claim.paper


def _scoreboard(claims: Claims) -> Iterator[str]:
    """Yield one row a paper with the numbers of its claims by verdict."""
    names = [*counts({}), "cannot fail"]
    yield f"| paper | claims tested | {' | '.join(names)} |\n|{' --- |' * (len(names) + 2)}\n"
    titles = {
        **PAPERS,
        RANKERS: "What we claim of rankers and experiments",
        FEW: "All of these on 251 real queries",
    }
    for paper, title in titles.items():
        of_paper = {
            stem: [claim for claim in of if table_of(stem, claim) == paper]
            for stem, of in claims.items()
        }
        own, sure = counts(of_paper), sum(counts(of_paper, CANNOT_FAIL).values())
        if total := sum(own.values()):
            cells = [title, *map(str, (total, *own.values(), sure))]
            yield f"| {' | '.join(cells)} |\n"


def screen(claims: Claims) -> Iterator[str]:
    """Yield the findings that the verdicts support, two a row, each below its picture."""
    supported = [(finding, finding.sentence(claims)) for finding in FINDINGS]
    cells = [
        _cell(i, finding, sentence)
        for i, (finding, sentence) in enumerate(supported, 1)
        if sentence
    ]
    if cells:
        yield "| | |\n| --- | --- |\n"
        yield from (f"| {' | '.join(cells[i : i + 2])} |\n" for i in range(0, len(cells), 2))


def _cell(number: int, finding: Finding, sentence: str) -> str:
    picture = f"../figures/{finding.stem}.png"
    return f"[![{finding.picture}]({picture})]({picture})<br>**{number}.** {sentence}"


def _table(claims: Claims, paper: str) -> Iterator[str]:
    """Yield a heading and the rows of a paper that has claims."""
    if rows := list(_rows(claims, paper)):
        yield f"\n## {PAPERS[paper]}\n\n"
        yield from rows


RULE_OF_TABLE = "--- | --- | --- | --- | ---"


def _rows(claims: Claims, paper: str) -> Iterator[str]:
    """Yield the table of a paper's claims, if it has any."""
    rows = [
        line
        for stem in claims
        for claim in claims[stem]
        if table_of(stem, claim) == paper
        for line in _row(stem, claim)
    ]
    if rows:
        head = "study" if paper == "ours" else "picture"
        columns = f"{head} | claim | must be | measured (interval) | verdict\n{RULE_OF_TABLE}"
        yield "\n".join([columns, *rows, ""])


def _row(stem: str, claim: Claim) -> Iterator[str]:
    """Yield the row of a claim, and the rows that explain it.

    A claim that does not hold is followed by its reason, a claim with a condition by the test where
    that condition is not met.
    """
    place, table = claim.place.replace("section ", "§"), f"../figures/{stem}.csv"
    if claim.paper == "ours":
        place = place.removeprefix("study ")  # the column is called so
    elif table_of(stem, claim) == FEW:
        place = f"{SHORT[claim.paper]}, {place}"
    words = f"{claim.text}, {claim.condition}" if claim.condition else claim.text
    for data, spelled in SPELLED.items():
        words = words.replace(data, spelled)
    found = f"[{claim.measured[0]}]({table})"
    yield (
        f"[{place}](../figures/{stem}.png) | {words} | {claim.bounds} | {found} "
        f"| **{claim.verdict}**"
    )
    if claim.verdict == FAILS:
        yield f"| | *{reason(claim.text)}* | | | |"
    if claim.condition:
        elsewhere = f"[{claim.measured[1]}]({table}) | {claim.verdicts[1]} |"
        yield f"| | *elsewhere* | {claim.bounds} | {elsewhere}"


def summary_table(claims: Claims) -> pl.DataFrame:
    """Return one row for each claim and branch, with its mean, interval, bounds and verdict."""
    return pl.DataFrame(
        [
            {
                "paper": claim.paper,
                "place": claim.place,
                "program": stem,
                "claim": f"{claim.text}, {claim.condition}" if claim.condition else claim.text,
                "branch": "elsewhere" if branch else "",
                "above": claim.low,
                "below": claim.high,
                "mean": measured.mean,
                "low": measured.low,
                "high": measured.high,
                "repeats": measured.repeats,
                "verdict": claim.verdicts[1] if branch else claim.verdict,
            }
            for paper in PAPERS
            for stem, of in claims.items()
            for claim in of
            if claim.paper == paper
            for branch, measured in enumerate(claim.measured)
        ],
        infer_schema_length=None,
    )


def counts(claims: Claims, names: Sequence[str] = VERDICTS) -> dict[str, int]:
    """Return the number of claims with each verdict."""
    verdicts = [claim.verdict for of in claims.values() for claim in of]
    return {name: verdicts.count(name) for name in names}
