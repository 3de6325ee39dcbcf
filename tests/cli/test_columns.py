from sample_files import houses

from batchensemble import load
from batchensemble.cli.columns import table_kinds


def test_the_kinds_of_a_model_are_those_of_its_file(shell):
    assert table_kinds(load("price.be")) == {
        "rooms": "number",
        "area": "number",
        "town": "category",
        "plot": "category",
        "sold": "date",
        "garden": "boolean",
    }
    assert houses()["plot"].str.startswith("0").any()  # codes, not numbers
