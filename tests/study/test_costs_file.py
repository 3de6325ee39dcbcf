import subprocess
import sys

from batchensemble.study.costs_file import cost_sheet, read_costs


def fake_row(entrant, *, dataset="diabetes", device="cpu", **values):
    numbers = {"n_parameters": 100, "train_seconds": 1.0, "predict_seconds": 0.5, "peak_bytes": 1}
    return {"device": device, "dataset": dataset, "entrant": entrant} | numbers | values


def test_no_file_is_no_costs(tmp_path):
    assert read_costs(tmp_path / "costs.json") == []


def test_reading_costs_and_their_sheet_need_no_torch():
    code = "import sys, batchensemble.study.costs_file; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_ratios_are_to_batch_ensemble_on_the_same_device_and_dataset():
    sheet = cost_sheet(
        [
            fake_row("batch_ensemble", train_peak_bytes=3 * 2**20, predict_peak_bytes=2**19),
            fake_row("single", train_seconds=0.25, predict_seconds=2.0),
            fake_row("batch_ensemble", device="A GPU", train_seconds=0.1, predict_seconds=0.1),
            fake_row("single", device="A GPU", train_seconds=0.25, predict_seconds=0.1),
            fake_row("single", dataset="electric"),
        ]
    )
    assert sheet.name == "cost"
    assert sheet.rows == (
        ("cpu", "Diabetes", "BatchEnsemble", 100, 1e3, 1.0, 500.0, 1.0, 3.0, 0.5),
        ("cpu", "Diabetes", "Single", 100, 250.0, 0.25, 2e3, 4.0, None, None),
        ("A GPU", "Diabetes", "BatchEnsemble", 100, 100.0, 1.0, 100.0, 1.0, None, None),
        ("A GPU", "Diabetes", "Single", 100, 250.0, 2.5, 100.0, 1.0, None, None),
        ("cpu", "Electric", "Single", 100, 1e3, None, 500.0, None, None, None),
    )
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    assert "one by one" in sheet.note
