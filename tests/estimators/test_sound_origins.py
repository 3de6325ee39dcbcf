import pytest

from batchensemble.estimators.sound_origins import check_origin

SOUND = {
    "file": "homes.csv",
    "task": "regression",
    "target": "rent",
    "columns": {"area": "number"},
    "n_learned": 90,
    "notes": ("a note",),
    "notations": {"area": {"decimal": ","}},
}


def test_an_origin_as_the_command_line_writes_it_is_sound():
    check_origin(None)
    check_origin(SOUND)


@pytest.mark.parametrize(
    "origin",
    [
        True,
        "homes.csv",
        {},
        *[
            {name: part for name, part in SOUND.items() if name != left}
            for left in ("file", "task")
        ],
        SOUND | {"file": None},
        SOUND | {"columns": {"area": 1}},
        SOUND | {"n_learned": "many"},
        SOUND | {"n_rows": -1},
        SOUND | {"notes": [3]},
        SOUND | {"notations": {"area": "comma"}},
        SOUND | {"scores": 0.5},
    ],
    ids=str,
)
def test_what_could_not_be_shown_is_refused(origin):
    with pytest.raises(ValueError, match="expected"):
        check_origin(origin)
