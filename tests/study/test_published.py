import subprocess
import sys

import pytest

from batchensemble.study.published import N_PARAMETERS, RMSE, SHAPES, UNCERTAINTY
from batchensemble.study.statements import ALL

INPUTS = {"adult": 108, "phoneme": 5}  # one-hot columns; the target is none
CLASSES = ("adult", "breast_cancer", "phoneme")
SERIES = ("electric", "temperature")


def plain(n_in, n_out):
    return n_in * n_out + n_out


def ensembled(n_in, n_out):
    return n_in * n_out + 10 * (n_in + n_out + n_out)  # r, s and bias of ten members


@pytest.mark.parametrize("dataset", N_PARAMETERS)
def test_the_numbers_of_parameters_are_those_of_the_layers_written_down(dataset):
    heads = [(32, 2)] if dataset in CLASSES else [(32, 1), (32, 1)]
    first = (32 if dataset in SERIES else INPUTS.get(dataset, SHAPES[dataset].d), 32)
    layers = [first, (32, 32), *heads]
    single = sum(plain(*layer) for layer in layers)
    ours = sum(ensembled(*layer) for layer in layers)
    if dataset in SERIES:
        single += 3 * (plain(1, 32) + plain(32, 32))  # each gate has two biases
        ours += 3 * ensembled(1 + 32, 32)
    assert N_PARAMETERS[dataset] == {
        "batch_ensemble": ours,
        "single": single,
        "deep_ensemble": 10 * single,
    }


def test_every_dataset_has_a_shape_and_three_counts():
    assert N_PARAMETERS.keys() == SHAPES.keys()
    assert len({(d, m) for d, own in N_PARAMETERS.items() for m in own}) == 21


def test_total_uncertainty_is_the_sum_of_its_parts_but_for_rounding():
    for place, methods in UNCERTAINTY.items():
        for method, (total, aleatoric, epistemic) in methods.items():
            assert total == pytest.approx(aleatoric + epistemic, abs=0.0011), (place, method)


def test_all_five_tables_are_there_in_both_variants_with_all_methods():
    tables = set(SHAPES) - set(SERIES)
    assert set(UNCERTAINTY) == {(name, variant) for name in tables for variant in ("id", "shift")}
    for methods in (*UNCERTAINTY.values(), *RMSE.values()):
        assert set(methods) == set(ALL)
    assert all(own["single"].epistemic == 0 for own in UNCERTAINTY.values())


def test_the_published_numbers_need_no_torch():
    code = "import sys, batchensemble.study.published; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
