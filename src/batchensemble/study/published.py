"""The numbers of the paper, as printed there; what only its figures show is not here."""

from typing import NamedTuple


class Shape(NamedTuple):
    """Rows and features; Phoneme's count of features includes the target, as printed."""

    n: int
    d: int


class Uncertainty(NamedTuple):
    """The means over a test set: variances for numbers, nats for classes."""

    total: float
    aleatoric: float
    epistemic: float


SHAPES = {
    "adult": Shape(48_842, 14),
    "breast_cancer": Shape(569, 30),
    "phoneme": Shape(5_404, 6),
    "diabetes": Shape(442, 10),
    "california": Shape(20_640, 8),
    "electric": Shape(397, 1),
    "temperature": Shape(3_650, 1),
}

# Where the data come from, and the licence that the source states; the paper names neither.
SOURCES = {
    "adult": ("Becker and Kohavi, UCI 2", "CC BY 4.0"),
    "breast_cancer": ("Wolberg and others, UCI 17, in scikit-learn", "CC BY 4.0"),
    "phoneme": ("ELENA project, OpenML 1489", "none stated"),
    "diabetes": ("Efron and others (2004), in scikit-learn", "none stated"),
    "california": ("Pace and Barry (1997), StatLib", "none stated"),
    "electric": ("US Federal Reserve, G.17, FRED IPG2211A2N", "public domain"),
    "temperature": ("Australian Bureau of Meteorology, Time Series Data Library", "none stated"),
}

# MC dropout is the single network, so its count is that of `single`.
N_PARAMETERS = {
    "adult": {"batch_ensemble": 7_584, "single": 4_610, "deep_ensemble": 46_100},
    "breast_cancer": {"batch_ensemble": 4_308, "single": 2_114, "deep_ensemble": 21_140},
    "phoneme": {"batch_ensemble": 3_258, "single": 1_314, "deep_ensemble": 13_140},
    "california": {"batch_ensemble": 3_704, "single": 1_410, "deep_ensemble": 14_100},
    "diabetes": {"batch_ensemble": 3_788, "single": 1_474, "deep_ensemble": 14_740},
    "electric": {"batch_ensemble": 10_790, "single": 5_538, "deep_ensemble": 55_380},
    "temperature": {"batch_ensemble": 10_790, "single": 5_538, "deep_ensemble": 55_380},
}

# (dataset, variant) -> method -> number. All are printed as approximate.
RMSE = {
    ("california", "id"): {
        "batch_ensemble": 0.097,
        "deep_ensemble": 0.097,
        "mc_dropout": 0.1,
        "single": 0.1,
    },
    ("california", "shift"): {
        "batch_ensemble": 0.18,
        "deep_ensemble": 0.18,
        "mc_dropout": 0.54,
        "single": 0.54,
    },
}

UNCERTAINTY = {
    ("california", "id"): {
        "batch_ensemble": Uncertainty(0.013, 0.012, 0.001),
        "mc_dropout": Uncertainty(0.024, 0.011, 0.013),
        "deep_ensemble": Uncertainty(0.011, 0.010, 0.001),
        "single": Uncertainty(0.011, 0.011, 0.0),
    },
    ("california", "shift"): {
        "batch_ensemble": Uncertainty(0.111, 0.038, 0.073),
        "mc_dropout": Uncertainty(0.226, 0.050, 0.176),
        "deep_ensemble": Uncertainty(0.417, 0.031, 0.386),
        "single": Uncertainty(0.044, 0.044, 0.0),
    },
    ("diabetes", "id"): {
        "batch_ensemble": Uncertainty(0.029, 0.028, 0.001),
        "mc_dropout": Uncertainty(0.053, 0.026, 0.027),
        "deep_ensemble": Uncertainty(0.026, 0.026, 0.000),
        "single": Uncertainty(0.025, 0.025, 0.0),
    },
    ("diabetes", "shift"): {
        "batch_ensemble": Uncertainty(0.026, 0.025, 0.001),
        "mc_dropout": Uncertainty(0.055, 0.027, 0.029),
        "deep_ensemble": Uncertainty(0.027, 0.026, 0.001),
        "single": Uncertainty(0.025, 0.025, 0.0),
    },
    ("adult", "id"): {
        "batch_ensemble": Uncertainty(0.293, 0.286, 0.007),
        "mc_dropout": Uncertainty(0.280, 0.258, 0.022),
        "deep_ensemble": Uncertainty(0.291, 0.264, 0.027),
        "single": Uncertainty(0.266, 0.266, 0.0),
    },
    ("adult", "shift"): {
        "batch_ensemble": Uncertainty(0.277, 0.268, 0.009),
        "mc_dropout": Uncertainty(0.245, 0.223, 0.022),
        "deep_ensemble": Uncertainty(0.253, 0.222, 0.031),
        "single": Uncertainty(0.231, 0.231, 0.0),
    },
    ("breast_cancer", "id"): {
        "batch_ensemble": Uncertainty(0.043, 0.027, 0.016),
        "mc_dropout": Uncertainty(0.032, 0.028, 0.004),
        "deep_ensemble": Uncertainty(0.033, 0.026, 0.007),
        "single": Uncertainty(0.027, 0.027, 0.0),
    },
    ("breast_cancer", "shift"): {
        "batch_ensemble": Uncertainty(0.034, 0.019, 0.015),
        "mc_dropout": Uncertainty(0.024, 0.017, 0.007),
        "deep_ensemble": Uncertainty(0.023, 0.014, 0.009),
        "single": Uncertainty(0.018, 0.018, 0.0),
    },
    ("phoneme", "id"): {
        "batch_ensemble": Uncertainty(0.337, 0.328, 0.009),
        "mc_dropout": Uncertainty(0.334, 0.312, 0.022),
        "deep_ensemble": Uncertainty(0.323, 0.316, 0.007),
        "single": Uncertainty(0.310, 0.310, 0.0),
    },
    ("phoneme", "shift"): {
        "batch_ensemble": Uncertainty(0.378, 0.352, 0.026),
        "mc_dropout": Uncertainty(0.362, 0.328, 0.034),
        "deep_ensemble": Uncertainty(0.351, 0.334, 0.017),
        "single": Uncertainty(0.330, 0.330, 0.0),
    },
}
