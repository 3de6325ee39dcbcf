"""Negative log-likelihoods that papers report for the UCI tables, in nats, standard splits."""

TABLES = [
    *("boston", "concrete", "energy", "kin8nm", "naval"),
    *("power", "protein", "winered", "yacht"),
]

PUBLISHED: dict[str, dict[str, str]] = {
    name: dict(zip([f"uci_{table}" for table in TABLES], numbers.split(), strict=True))
    for name, numbers in {
        "MC dropout": "2.46 3.04 1.99 -0.95 -3.80 2.80 2.89 0.93 1.55",
        "deep ensemble": "2.41 3.06 1.38 -1.20 -5.63 2.79 2.83 0.94 1.18",
        "NGBoost": "2.43 3.04 0.60 -0.49 -5.34 2.79 2.81 0.91 0.20",
        "deep evidential": "2.35 3.01 1.39 -1.24 -5.73 2.81 2.63 0.89 1.03",
        "WGBoost": "2.47 2.83 0.53 -0.44 -5.47 2.60 2.70 0.95 0.16",
    }.items()
}
