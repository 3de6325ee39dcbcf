"""What each change of the recipe brought: the table of docs/quality.md from its rows.

    python benchmarks/quality/trials.py results/quality/trials.csv

The rows come from a trial program that is not part of the library: they show the way to the
presets, on the tables marked for choosing. How good the presets are is in rows.csv.
"""

import sys

import numpy as np
import pandas as pd


def main(file: str) -> None:
    rows = pd.read_csv(file).set_index(["recipe", "table", "split"])
    print("| recipe | CRPS / TabM's | NLL - TabM's | coverage |\n| --- | --- | --- | --- |")
    for recipe, own in rows.groupby("recipe", sort=False):
        scores = own.droplevel("recipe")
        both = scores.join(rows.loc["TabM"], rsuffix="_tabm").groupby("table").mean()
        crps = np.exp(np.log(both["crps"] / both["crps_tabm"]).mean())
        nll = (both["nll"] - both["nll_tabm"]).mean()
        print(f"| {recipe} | {crps:.2f} | {nll:+.2f} | {both['coverage'].mean():.2f} |")


if __name__ == "__main__":
    main(sys.argv[1])
