import pytest

from batchensemble.cli.wording import in_options

# As the library says it to users of Python, and as the command line says the same.
SAID = {
    "To fill them in, pass fill='interpolate' or 'ffill'": (
        "To fill them in, add --fill interpolate or --fill ffill"
    ),
    "pass freq='MS' (--freq MS on the command line), which takes": "add --freq MS, which takes",
    "so it is read as words; convert it with pd.to_datetime": (
        "so it is read as words; add --dayfirst or --no-dayfirst"
    ),
    "read it as words: X['zip'].astype(str), or --category on the command line": (
        "read it as words: add --category zip"
    ),
    "leave it out (--drop on the command line): with it": "leave it out with --drop: with it",
    "for one per class, calibrate with per_class=True": "for one per class, fit with --per-class",
    "fit with calibrate=True, or calibrate with newer observations": "fit with --calibrate",
    "got 4 of 20; collect more, or fit without calibrate=True": (
        "got 4 of 20; collect more, or add --no-calibrate"
    ),
    "got -1; use target='real'": "got -1; add --target-kind real",
    "which bounds? pass target_bounds=(low, high)": "which bounds? add --target-bounds LOW HIGH",
    "pass other target_bounds, or target='real'": (
        "add other --target-bounds, or --target-kind real"
    ),
    "holidays='NO' needs series with dates": "--holidays NO needs series with dates",
    "expected freq=, or a series": "expected --freq, or a series",
    "resample it, or pass freq=": "resample it, or add --freq",
    "use one frequency, or say which (freq)": "use one frequency, or say which --freq",
    "choose a coarser freq, or resample": "choose a coarser --freq, or resample",
    "list them in future_columns=, past_columns= or drop 'past_columns'": (
        "list them in --future, --past or drop 'past_columns'"
    ),
    "The 'n_members' parameter of Regressor must be": "--members must be",
    "The 'time_limit' parameter of Regressor must be": "--time-limit must be",
    "The 'random_state' parameter of Regressor must be an int": "--seed must be an int",
    'choose a fill, "interpolate" or "ffill", or fill them in': (
        "add --fill interpolate or --fill ffill, or fill them in"
    ),
}


@pytest.mark.parametrize("sentence", SAID)
def test_arguments_of_python_become_options(sentence):
    assert in_options(sentence) == SAID[sentence]


def test_other_sentences_stay():
    for text in ("column 'price=1' differs in every row", "expected y > 0, got x=3; pass more"):
        assert in_options(text) == text
