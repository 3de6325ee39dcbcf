"""The paper's abstract, sentence by sentence: what our results say about it, in plain words.

"Better" and "worse" are means whose intervals (mean ± standard error) do not overlap, as in the
paper; the same by paired differences stands beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from batchensemble.plots.looks import CALIBRATION, UP, dataset_name, label
from batchensemble.plots.sheets import Sheet
from batchensemble.study.best_sets import WORDS, Word, overlap, paired_gap, together, yes
from batchensemble.study.costs_file import ONE_BY_ONE
from batchensemble.study.results import ID, SHIFT, Place, Study
from batchensemble.study.statements import BE, DE, MC, S

NOT_TESTED = "not tested"
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Sentence:
    """A sentence of the abstract, or a part of one; `verdict` is None where nothing is claimed."""

    quote: str
    verdict: Word | None
    found: str


@dataclass(frozen=True)
class Tally:
    """How BatchEnsemble compares with a rival on several test sets: places by outcome."""

    better: tuple[str, ...]
    same: tuple[str, ...]
    worse: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.better) + len(self.same) + len(self.worse)

    def words(self, equal: str = "no clear difference") -> str:
        lost = f" ({', '.join(self.worse)})" if self.worse else ""
        return (
            f"better on {len(self.better)} of {self.n} test sets, {equal} on {len(self.same)}, "
            f"worse on {len(self.worse)}{lost}"
        )


def judge_abstract(study: Study) -> list[Sentence]:
    """Of a full study; of another one, nothing."""
    if study.note or not study.methods():
        return []
    return [
        Sentence(
            "Deep learning models struggle with uncertainty estimation. Many approaches are "
            "either computationally infeasible or underestimate uncertainty.",
            None,
            "Background, not a result of the paper.",
        ),
        _scope(study),
        _matches(study),
        _outperforms(study),
        _grube(study),
        _parameters(study),
        _time(study),
    ]


def abstract_sheet(study: Study) -> Sheet:
    rows = tuple((one.quote, told(one), one.found) for one in judge_abstract(study))
    return Sheet(
        "abstract",
        "The abstract, sentence by sentence",
        ("the paper says", "verdict", "what we found"),
        rows,
        "Better or worse: the means ± standard errors do not overlap. NLL (negative log-likelihood)"
        " is low where predictions are accurate and as uncertain as they should be.",
    )


def told(sentence: Sentence) -> str:
    """The verdict in words."""
    if sentence.verdict is not None:
        return {"partly": "holds in part"}.get(sentence.verdict, sentence.verdict)
    return NOT_TESTED if sentence.found.startswith(("Background", "What was done")) else NOT_JUDGED


def tally(study: Study, rival: str, metric: str, places: Sequence[Place], *, paired: bool) -> Tally:
    """Places where both have the metric; by intervals of means, or by differences of each seed."""
    named: dict[str, list[str]] = {"better": [], "same": [], "worse": []}
    for place in places:
        ours, theirs = (study.values(place, who, _of(study, place, metric)) for who in (BE, rival))
        if not ours or not theirs:
            continue
        sign = -1 if _of(study, place, metric) in UP else 1
        if paired:
            gap = paired_gap(ours, theirs)
            lead = 0.0 if gap is None or gap.low <= 0 <= gap.high else sign * gap.mean
        else:
            means = study.means(place, _of(study, place, metric), (BE, rival))
            apart = not overlap(means[BE], means[rival])
            lead = sign * (means[rival].mean - means[BE].mean) if apart else 0.0
        named["better" if lead > 0 else "worse" if lead < 0 else "same"].append(place_name(place))
    return Tally(**{outcome: tuple(where) for outcome, where in named.items()})


def place_name(place: Place) -> str:
    return f"{'shifted ' * (place.variant == SHIFT)}{dataset_name(place.dataset)}"


def _of(study: Study, place: Place, metric: str) -> str:
    """The calibration error of a place depends on its task."""
    return CALIBRATION[study.tasks()[place.dataset]] if metric == "calibration" else metric


def _compared(study: Study, rival: str) -> tuple[Tally, str]:
    """In NLL, and everything that is told about it."""
    places = study.places()
    nll = tally(study, rival, "nll", places, paired=False)
    pairs = tally(study, rival, "nll", places, paired=True)
    calibration = tally(study, rival, "calibration", places, paired=False)
    return nll, (
        f"In NLL, BatchEnsemble against {_rival(rival)} is {nll.words()}. Seed by seed, with a "
        f"95 % interval of the difference: {pairs.words('undecided')}. In calibration error (ECE, "
        f"miscalibration area): {calibration.words()}."
    )


def _scope(study: Study) -> Sentence:
    tasks = study.tasks()
    series = [p for p in study.places() if tasks[p.dataset] == "forecasting"]
    tables = {p.dataset for p in study.places()} - {p.dataset for p in series}
    shifted = [p for p in study.places() if p.variant == SHIFT]
    return Sentence(
        "We investigate BatchEnsemble ... across both tabular and time series tasks. ... we "
        "introduce GRUBE ... We compare the BatchEnsemble to Monte Carlo dropout and deep ensemble "
        "models.",
        None,
        f"What was done, and done again here: {len(tables)} tables and {len(series)} series, "
        f"{len(shifted)} of the tables also with a shifted test set.",
    )


def _matches(study: Study) -> Sentence:
    nll, found = _compared(study, DE)
    words: list[Word] = [yes(True)] * len(nll.better + nll.same) + [yes(False)] * len(nll.worse)
    return Sentence(
        "Our results show that BatchEnsemble matches the uncertainty estimation performance of "
        "deep ensembles, ...",
        together(words) if words else None,
        found,
    )


def _outperforms(study: Study) -> Sentence:
    nll, found = _compared(study, MC)
    words = [word for word, places in zip(WORDS, (nll.better, nll.same, nll.worse), strict=True)
             for _ in places]  # fmt: skip
    return Sentence(
        "... and clearly outperforms Monte Carlo dropout.",
        together(words) if words else None,
        found,
    )


def _grube(study: Study) -> Sentence:
    """Error and NLL on the series, against each rival."""
    tasks = study.tasks()
    places = [place for place in study.places() if tasks[place.dataset] == "forecasting"]
    words: list[Word] = []
    said = []
    for metric, name in (("rmse", "RMSE"), ("nll", "NLL")):
        for place in places:
            parts = []
            for rival in (DE, MC, S):
                one = tally(study, rival, metric, [place], paired=False)
                words += [yes(not one.worse)] * one.n
                outcome = "better than" if one.better else "worse than" if one.worse else "like"
                parts += [f"{outcome} {_rival(rival)}"] * one.n
            said.append(f"{place_name(place)}, {name}: {', '.join(parts)}")
    return Sentence(
        "GRUBE achieves similar or better performance in both prediction and uncertainty "
        "estimation.",
        together(words) if words else None,
        f"{words.count('holds')} of {len(words)} comparisons are similar or better. "
        f"{'; '.join(said)}."
        if words
        else "There are no series among the results.",
    )


def _parameters(study: Study) -> Sentence:
    sizes = {
        name: [study.about(Place(name, ID), who).get("n_parameters", 0) for who in (BE, DE)]
        for name in study.facts()
        if {BE, DE} <= {*study.methods((name, ID))}
    }
    shares = {name: ours / theirs for name, (ours, theirs) in sizes.items() if theirs}
    quote = "BatchEnsemble and GRUBE achieve similar performance with fewer parameters ..."
    if not shares:
        return Sentence(quote, None, "There are no parameter counts among the results.")
    low, high = (100 * f(shares.values()) for f in (min, max))
    return Sentence(
        quote,
        together(yes(share < 1) for share in shares.values()),
        f"BatchEnsemble has {low:.0f} to {high:.0f} % of the deep ensemble's parameters on "
        f"{len(shares)} datasets. The rows above say how similar the performance is.",
    )


def _time(study: Study) -> Sentence:
    quote = "... and reduced training and inference time compared to traditional ensembles."
    devices = dict.fromkeys(row["device"] for row in study.costs)
    said, slower, n = [], [], 0
    for device in devices:
        where = "one CPU thread" if device == "cpu" else f"the {device}"
        spans = []
        for rival in (ONE_BY_ONE, DE):
            ratios = _ratios(study, device, rival)
            spans += [_span([r for (verb, _), r in ratios.items() if verb == one]) for one in VERBS]
            if rival == ONE_BY_ONE:
                n += len(ratios)
                slower += [f"{v}ing {d} on {where}" for (v, d), r in ratios.items() if r <= 1]
        said.append(
            f"On {where}, ten networks one by one take {spans[0]} times as long to train and "
            f"{spans[1]} times as long to predict; all ten at once, {spans[2]} and {spans[3]} times"
        )
    if not n:
        return Sentence(quote, None, "Times were not measured.")
    exceptions = f" (not for {', '.join(slower)})" if slower else ""
    return Sentence(
        quote,
        together([yes(True)] * (n - len(slower)) + [yes(False)] * len(slower)),
        f"BatchEnsemble is faster than ten networks one by one in {n - len(slower)} of {n} "
        f"measurements{exceptions}. {'. '.join(said)}.",
    )


VERBS = ("train", "predict")


def _ratios(study: Study, device: str, rival: str) -> dict[tuple[str, str], float]:
    """By verb and dataset: the rival's seconds over BatchEnsemble's, where both were measured."""
    rows = {(r["dataset"], r["entrant"]): r for r in study.costs if r["device"] == device}
    return {
        (verb, dataset_name(name)): rows[name, rival][f"{verb}_seconds"] / ours[f"{verb}_seconds"]
        for verb in VERBS
        for (name, who), ours in rows.items()
        if who == BE and (name, rival) in rows
    }


def _span(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.1f} to {max(ratios):.1f}" if ratios else "an unknown number of"


def _rival(method: str) -> str:
    """Inside a sentence."""
    return {DE: "the deep ensemble", S: "the single network"}.get(method, label(method))
