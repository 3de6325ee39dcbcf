"""The kind of statement about cost: who is faster, by the measured seconds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from batchensemble.study.best_sets import yes
from batchensemble.study.results import ID, Place, Study
from batchensemble.study.statements import Need, Part, needs_runs


@dataclass(frozen=True)
class Faster:
    """Training and predicting take less time, on every device and dataset that was measured.

    other    as the costs name it; `method` is what it is a way to do
    note     stands behind its name
    counts   whether the verdict of the claim depends on it

    Judged only where the study's full runs of both methods are there, as everything else is.
    """

    ours: str
    other: str
    method: str
    datasets: tuple[str, ...]
    note: str = ""
    counts: bool = True

    def parts(self, study: Study) -> list[Part]:
        parts = []
        for device, dataset, costs in self._measured(study):
            is_judged = not self._needs_at(study, device, dataset, costs)
            for key, verb in (("train_seconds", "trains"), ("predict_seconds", "predicts")):
                what = f"{self.ours} {verb} faster than {self.other}{self.note}"
                seconds = {who: float(cost[key]) for who, cost in costs.items()}
                word = yes(seconds[self.ours] < seconds[self.other]) if is_judged else None
                text = f"{dataset} on {device}: {what}"
                parts.append(Part(text, word, {"seconds": seconds}, self.counts))
        return parts

    def needs(self, study: Study) -> list[Need]:
        if not self.counts:
            return []
        measured = list(self._measured(study))
        if not measured:
            return [Need("measured costs")]
        return [need for at in measured for need in self._needs_at(study, *at)]

    def _needs_at(
        self, study: Study, device: str, dataset: str, costs: Mapping[str, Any]
    ) -> list[Need]:
        runs = (
            need
            for method in (self.ours, self.method)
            for need in needs_runs(study, Place(dataset, ID), method)
        )
        missing = (who for who in (self.ours, self.other) if who not in costs)
        return [*runs, *(Need("costs of", f"{dataset} on {device}", who) for who in missing)]

    def _measured(self, study: Study) -> Iterator[tuple[str, str, dict[str, Mapping[str, Any]]]]:
        """Device, dataset, and the costs of the two."""
        by_place: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
        for cost in study.costs:
            if cost["dataset"] in self.datasets and cost["entrant"] in (self.ours, self.other):
                place = (cost["device"], cost["dataset"])
                by_place.setdefault(place, {})[cost["entrant"]] = cost
        for (device, dataset), costs in by_place.items():
            yield device, dataset, costs
