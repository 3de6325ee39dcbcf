"""The default regressor against a homoscedastic linear model on Diabetes.

    python benchmarks/default_preset.py

Splits 100 to 111, which were not looked at when the preset was chosen. Prints our NLL less the
linear model's, mean and standard error over the splits, and the coverage of the 90 % intervals.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from batchensemble import Regressor
from batchensemble.metrics import gaussian_nll, interval_coverage, mixture_nll


def main() -> None:
    x, y = load_diabetes(return_X_y=True)
    rows = []
    for seed in range(100, 112):
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
        dist = Regressor(random_state=seed).fit(x[train], y[train]).predict_dist(x[test])
        linear = LinearRegression().fit(x[train], y[train])
        residual = y[train] - linear.predict(x[train])
        std = (residual @ residual / (len(train) - x.shape[1] - 1)) ** 0.5
        theirs = gaussian_nll(y[test], mean=linear.predict(x[test]), std=np.full(len(test), std))
        ours = mixture_nll(y[test], means=dist.means, variances=dist.variances)
        low, high = dist.interval(0.9).T
        rows.append((ours - theirs, interval_coverage(y[test], lower=low, upper=high)))
    (gain, coverage), se = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / len(rows) ** 0.5
    print(f"NLL less the linear model's {gain:+.3f} +- {se[0]:.3f}")
    print(f"coverage of 90 % intervals   {coverage:.3f} +- {se[1]:.3f}")


if __name__ == "__main__":
    main()
