"""Puts the values of the presets into the reference while the site is built."""

from inspect import signature
from typing import Any

from batchensemble import Classifier, Forecaster, Regressor
from batchensemble.estimators.presets import CLASSIFIER_PRESETS, PRESETS, SERIES_PRESETS

PLACE = "<!-- presets -->"
OF = {Regressor: PRESETS, Classifier: CLASSIFIER_PRESETS, Forecaster: SERIES_PRESETS}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    return markdown.replace(
        PLACE, "\n\n".join(map(table, dict.fromkeys([*PRESETS, *SERIES_PRESETS])))
    )


def table(preset: str) -> str:
    """A row per setting, a column per estimator; empty if the estimator has no such argument."""
    columns = {
        estimator.__name__: {
            name: f"`{value!r}`"
            for name, value in presets[preset].items()
            if name in signature(estimator).parameters
        }
        for estimator, presets in OF.items()
        if preset in presets
    }
    names = dict.fromkeys(name for settings in columns.values() for name in settings)
    rows = [
        [f'`preset="{preset}"`', *columns],
        ["---"] * (1 + len(columns)),
        *([f"`{name}`", *(of.get(name, "") for of in columns.values())] for name in names),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
