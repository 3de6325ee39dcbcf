"""Do two machines give the same study? Compares two folders of results, such as CPU and GPU.

    python benchmarks/agreement.py results results-cpu [--csv results/cpu_gpu.csv]

For every metric of every method that both have, on the same splits: the difference of the means
over the seeds, in units of its standard error (both machines' together). Random numbers differ
between machines, so the differences should look like those of other seeds.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

from batchensemble.page.sheets import MeanSE
from batchensemble.study.spec import PLAIN
from batchensemble.study.tables import Place, of_place, over_seeds, places, read_results

Numbers = dict[tuple[str, str, str, str], MeanSE]


def numbers(folder: Path) -> Numbers:
    results = [r for r in read_results(folder) if r.run.change == PLAIN]
    found: Numbers = {}
    for place in places(results):
        own = of_place(results, place)
        for metric in own[0].metrics:
            found |= _of(place, metric, over_seeds(own, metric))
    return found


def _of(place: Place, metric: str, by_method: dict[str, MeanSE]) -> Numbers:
    return {(*place, method, metric): summary for method, summary in by_method.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs=2, type=Path)
    parser.add_argument("--csv", type=Path)
    args = parser.parse_args()
    first, second = map(numbers, args.folders)
    rows = []
    for key, a in first.items():
        b = second.get(key)
        spread = np.hypot(a.se, b.se) if b is not None else 0.0
        if b is not None and spread > 0:
            rows.append((*key, a.mean, a.se, b.mean, b.se, (b.mean - a.mean) / spread))
    gaps = np.abs([row[-1] for row in rows])
    for dataset, variant in dict.fromkeys((row[0], row[1]) for row in rows):
        own = np.abs([row[-1] for row in rows if row[:2] == (dataset, variant)])
        share = np.mean(own <= 2)
        print(f"{dataset} {variant}: {len(own)} numbers, {share:.0%} within two standard errors")
    print(f"All: {len(gaps)}, {np.mean(gaps <= 2):.0%} within two, largest {gaps.max():.1f}")
    for row in sorted(rows, key=lambda row: -abs(row[-1]))[:5]:
        print(
            "  "
            + " ".join(map(str, row[:4]))
            + ": {:.4f} ± {:.4f}, {:.4f} ± {:.4f}".format(*row[4:8])
        )
    if args.csv:
        with args.csv.open("w", newline="") as file:
            out = csv.writer(file)
            names = ("dataset", "variant", "method", "metric", "first", "first SE")
            out.writerow((*names, "second", "second SE", "difference / SE"))
            out.writerows(rows)


if __name__ == "__main__":
    main()
