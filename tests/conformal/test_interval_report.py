import numpy as np
from fixtures import few_paths, too_sure

from batchensemble.conformal import REPORTED, IntervalCalibration, widened


def test_the_report_is_what_leaving_each_row_out_gives():
    y, dist = too_sure(41)
    calibration = IntervalCalibration.of(y, dist)
    report = calibration.report()
    for i, level in enumerate(REPORTED):
        held, widths = [], []
        for row in range(41):
            others = np.delete(np.arange(41), row)
            factor = IntervalCalibration.of(y[others], dist[others]).factors(level)
            low, high = widened(dist[row].mean, dist[row].std, factor)[0]
            held.append(low <= y[row] <= high)
            widths.append(high - low)
        assert report["coverage_after"][i] == np.mean(held)
        assert np.isclose(report["width_after"][i], np.mean(widths))
        low, high = dist.interval(level).T
        assert report["coverage_before"][i] == np.mean((low <= y) & (y <= high))
        assert np.isclose(report["width_before"][i], np.mean(high - low))
    assert (report["assured_after"] < REPORTED).all()


def test_levels_that_need_more_rows_are_not_reported():
    y, dist = too_sure(12)
    report = IntervalCalibration.of(y, dist).report()
    assert np.isfinite(report["coverage_before"]).all()
    assert np.isfinite(report["coverage_after"]).tolist() == [True, True, True, False]
    assert np.isfinite(report["assured_after"]).tolist() == [True, True, True, False]


def test_in_time_the_later_half_is_judged_by_the_earlier_half():
    y, dist = few_paths()
    report = IntervalCalibration.of(y, dist).report_in_time()
    factor = IntervalCalibration.of(y[:25], dist[:25]).factors(0.8)
    ends = widened(dist[25:].mean, dist[25:].std, factor)
    held = (ends[..., 0] <= y[25:]) & (y[25:] <= ends[..., 1])
    assert np.isclose(report["coverage_after"][1], held.mean())
    own = dist[25:].interval(0.8)
    assert np.isclose(report["width_before"][1], np.mean(own[..., 1] - own[..., 0]))
