"""Is the threshold right? Served right, served wrong, sent to review, missed, for any rule, with exact intervals.

A rule is a likeness, two thresholds and the gates to be passed. `right(call, entry)` is given from outside and knows
nothing of the matcher: the same template instance, or the same recorded answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from records.adr_0003.probe import COSINE, Near, Probe
from workbench.matching.similarity import GATES

CONFIDENCE = 0.95
SHAPE = frozenset({"speakers", "tools", "params", "attachments", "structure"})
CANDIDATES = 3
"""ADR-0003: at most 3 candidates a missed request."""

Right = Callable[[int, int], bool]
"""(number of the call, entry id) to whether that entry's answer is right for that call."""

OUTCOMES = ("served right", "served wrong", "same request, other answer", "review", "missed")


@dataclass(frozen=True, slots=True)
class Rule:
    """One comparing tier. Thresholds are in the likeness's own unit; a serve threshold of None never serves."""

    likeness: str = "dice_multiset"
    serve: float | None = 1.0
    review: float = 0.6
    gates: tuple[str, ...] = ()

    @property
    def conditions(self) -> frozenset[str]:
        """What must not be broken to be served: the shape, and the chosen gates."""
        return SHAPE | frozenset(self.gates)

    def near(self, probe: Probe) -> list[Near]:
        """The proposals of this tier, best first; ties by entry id."""
        proposals = probe.semantic if self.likeness == COSINE else probe.lexical
        return sorted(proposals, key=lambda n: (-n.scores[self.likeness], n.entry))


ADR_0003_RULES = (Rule(),)
ADR_0003_WITH_EMBEDDINGS = (Rule(), Rule(COSINE, None, 0.75))


@dataclass(frozen=True, slots=True)
class Settled:
    """What a cascade did with a call. `candidates` would wait for review, at most 3, each once."""

    outcome: str
    tier: str
    entry: int | None = None
    score: float | None = None
    candidates: tuple[int, ...] = ()


def settle(probe: Probe, rules: Sequence[Rule]) -> Settled:
    """The cascade over a probe: exact, normalised, then the rules in order (no alias: nothing was approved yet)."""
    for tier, entry in (("exact", probe.exact), ("normalised", probe.normalised)):
        if entry is not None:
            return Settled("served", tier, entry, 1.0)
    waiting: dict[int, None] = {}
    for rule in rules:
        ranked = rule.near(probe)
        for near in ranked:
            score = near.scores[rule.likeness]
            if rule.serve is not None and score >= rule.serve and not near.broken & rule.conditions:
                return Settled("served", rule.likeness, near.entry, score)
        waiting |= {n.entry: None for n in ranked if n.scores[rule.likeness] >= rule.review}
    chosen = tuple(waiting)[:CANDIDATES]
    return Settled("review" if chosen else "missed", "", candidates=chosen)


@dataclass(frozen=True, slots=True)
class Interval:
    """k of n with the exact (Clopper-Pearson) two-sided interval of the share."""

    k: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.k / self.n if self.n else float("nan")


def interval(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Clopper-Pearson; of no calls nothing is known: 0 to 1."""
    if n == 0:
        return Interval(k, n, 0.0, 1.0)
    from scipy.stats import binomtest

    found = binomtest(k, n).proportion_ci(confidence, method="exact")
    return Interval(k, n, float(found.low), float(found.high))


def upper_bound(k: int, n: int, confidence: float = CONFIDENCE) -> float:
    """The one-sided bound: with this confidence the true share is not higher. 0 of n: 1 - (1 - c)^(1/n)."""
    if n == 0 or k == n:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(k, n, alternative="less").proportion_ci(confidence, method="exact").high)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one setting over n calls. `useful` reviews hold a right entry among their candidates; `lost` misses
    had a right entry in the library. `load` counts candidates, the reviewer's work; `wrong` names the calls that
    were served wrong; `tiers` counts served calls by (tier, outcome)."""

    n: int
    counts: Mapping[str, int]
    useful: int
    lost: int
    load: int
    wrong: tuple[int, ...] = field(default=(), repr=False)
    tiers: Mapping[tuple[str, str], int] = field(default_factory=dict, repr=False)

    def of(self, outcome: str) -> Interval:
        return interval(self.counts[outcome], self.n)


def tally(
    settled: Mapping[int, Settled],
    right: Right,
    answerable: Callable[[int], bool],
    same_request: Right,
) -> Tally:
    """Count the outcomes of calls by their number. `answerable(call)`: is any right entry in the library."""
    counts, tiers = dict.fromkeys(OUTCOMES, 0), Counter()
    useful = lost = load = 0
    wrong = []
    for call, found in settled.items():
        outcome = found.outcome
        if outcome == "served":
            if right(call, found.entry):
                outcome = "served right"
            else:
                outcome = (
                    "same request, other answer"
                    if same_request(call, found.entry)
                    else "served wrong"
                )
            tiers[found.tier, outcome] += 1
        counts[outcome] += 1
        if outcome == "served wrong":
            wrong.append(call)
        load += len(found.candidates)
        useful += outcome == "review" and any(right(call, entry) for entry in found.candidates)
        lost += outcome == "missed" and answerable(call)
    return Tally(len(settled), counts, useful, lost, load, tuple(wrong), dict(tiers))


@dataclass(frozen=True, slots=True)
class Cut:
    """What a likeness with gates can serve, by threshold: for each call the best entry that passes, best first.

    `scores` and `right` are parallel: a call is served at every threshold up to its score. Calls that exact and
    normalised answer are not among them; `calls` counts all that reach this tier.
    """

    likeness: str
    gates: tuple[str, ...]
    scores: tuple[float, ...]
    right: tuple[bool, ...]
    calls: int

    def at(self, threshold: float) -> tuple[int, int]:
        """(served right, served wrong) at a serve threshold."""
        served = [r for s, r in zip(self.scores, self.right, strict=True) if s >= threshold]
        return sum(served), len(served) - sum(served)

    @property
    def clean(self) -> float | None:
        """The lowest threshold at which nothing was served wrong; None where even the highest score was wrong."""
        worst = max(
            (s for s, r in zip(self.scores, self.right, strict=True) if not r), default=None
        )
        good = [
            s
            for s, r in zip(self.scores, self.right, strict=True)
            if r and (worst is None or s > worst)
        ]
        return min(good, default=None)

    @property
    def clean_served(self) -> int:
        """How many calls the clean threshold serves, all of them right."""
        return 0 if self.clean is None else self.at(self.clean)[0]

    @property
    def clean_bound(self) -> float:
        """With 95 % confidence the share of wrong ones among what the clean threshold serves is not above this."""
        return upper_bound(0, self.clean_served)


def cut(found: Sequence[Probe], right: Right, likeness: str, gates: tuple[str, ...] = ()) -> Cut:
    """The best entry of each call that passes shape and gates, by score descending (ties: wrong ones first)."""
    rule = Rule(likeness, None, 0.0, gates)
    pairs, calls = [], 0
    for call, probe in enumerate(found):
        if probe.exact is not None or probe.normalised is not None:
            continue
        calls += 1
        best = next((n for n in rule.near(probe) if not n.broken & rule.conditions), None)
        if best is not None:
            pairs.append((best.scores[likeness], right(call, best.entry)))
    pairs.sort(key=lambda p: (-p[0], p[1]))
    return Cut(likeness, gates, tuple(s for s, _ in pairs), tuple(r for _, r in pairs), calls)


GATE_SETS: dict[str, tuple[str, ...]] = {
    "no gate": (),
    "numbers": ("same_numbers",),
    "content words": ("same_content_words",),
    "order and marks": ("same_order", "same_marks"),
    "all gates": tuple(GATES),
}
