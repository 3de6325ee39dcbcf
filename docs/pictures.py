"""Draws the pictures of the pages: python docs/pictures.py"""

from pathlib import Path

from batchensemble import Forecaster
from batchensemble.datasets import load_series

FOLDER = Path(__file__).parent / "images"


def forecast() -> None:
    series = load_series("seasonal").frame
    model = Forecaster(horizon=24, random_state=0).fit(series)
    model.plot(history=96).savefig(FOLDER / "forecast.png", dpi=120)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    forecast()
