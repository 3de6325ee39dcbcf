"""Do two makings give the same study? Compares two folders of results, such as CPU and GPU.

    python benchmarks/agreement.py results results-cpu [--csv results/cpu_gpu.csv]
    python benchmarks/agreement.py before results --metric rmse accuracy nll

For every metric of every method that both have: the difference of the means over the seeds, in
units of its standard error (both makings' together). Random numbers differ between machines and
engines, so the differences should look like those of other seeds. A seed has the same split in
both, which makes that standard error too large; so the differences seed by seed are judged too:
about 95 % of their means should have 0 in Student's 95 % interval.
"""

import argparse
import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scipy import stats

from batchensemble.plots.sheets import MeanSE
from batchensemble.study.results import read_results
from batchensemble.study.spec import PLAIN

Key = tuple[str, str, str, str]  # dataset, variant, method, metric


class Gap(NamedTuple):
    key: Key
    first: MeanSE
    second: MeanSE
    apart: float  # second - first, in standard errors of both together
    same: bool  # 0 is in the 95 % interval of the mean difference, seed by seed


def by_seed(folder: Path) -> dict[Key, dict[int, float]]:
    """The numbers of the main study."""
    found: dict[Key, dict[int, float]] = {}
    for result in read_results(folder):
        run = result.run
        if run.change == PLAIN:
            for metric, value in result.metrics.items():
                key = (run.dataset, run.variant, run.method, metric)
                found.setdefault(key, {})[run.seed] = value
    return found


def compare(key: Key, a: dict[int, float], b: dict[int, float]) -> Gap | None:
    """None where neither changes with the seed, or they share fewer than two."""
    first, second = MeanSE.of([*a.values()]), MeanSE.of([*b.values()])
    seeds = a.keys() & b.keys()
    gap = MeanSE.of([b[seed] - a[seed] for seed in seeds])
    spread = math.hypot(first.se, second.se)
    if spread == 0 or len(seeds) < 2:
        return None
    reach = gap.se * float(stats.t.ppf(0.975, len(seeds) - 1))
    apart = (second.mean - first.mean) / spread
    return Gap(key, first, second, apart, abs(gap.mean) <= reach)


def tell(name: str, gaps: Sequence[Gap]) -> None:
    near = sum(abs(gap.apart) <= 2 for gap in gaps)
    inside = sum(gap.same for gap in gaps)
    print(f"{name}: {len(gaps)} numbers, {near} within two standard errors; by seed {inside}")


def write(gaps: Sequence[Gap], path: Path) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        names = ("dataset", "variant", "method", "metric", "first", "first SE")
        out.writerow((*names, "second", "second SE", "difference / SE", "same by seed"))
        out.writerows((*g.key, *g.first, *g.second, g.apart, g.same) for g in gaps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs=2, type=Path)
    parser.add_argument("--metric", nargs="+", help="only these")
    parser.add_argument("--csv", type=Path)
    args = parser.parse_args()
    first, second = map(by_seed, args.folders)
    keys = [k for k in first if k in second and (not args.metric or k[3] in args.metric)]
    gaps = [gap for key in keys if (gap := compare(key, first[key], second[key])) is not None]
    for place in dict.fromkeys(gap.key[:2] for gap in gaps):
        tell(" ".join(place), [gap for gap in gaps if gap.key[:2] == place])
    tell("All", gaps)
    for gap in sorted(gaps, key=lambda gap: -abs(gap.apart))[:5]:
        numbers = "{:.4f} ± {:.4f}, {:.4f} ± {:.4f}".format(*gap.first, *gap.second)
        print(f"  {' '.join(gap.key)}: {numbers}, {gap.apart:.1f} standard errors apart")
    if args.csv:
        write(gaps, args.csv)


if __name__ == "__main__":
    main()
