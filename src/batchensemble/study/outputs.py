"""Everything a folder of results has to show: numbers, tables, figures, verdicts, the report."""

from importlib.util import find_spec
from pathlib import Path

from batchensemble.study.best_sets import WORDS
from batchensemble.study.claims import claims_sheet, judge_claims, write_claims
from batchensemble.study.costs_file import cost_sheet, is_full, read_costs
from batchensemble.study.figures import draw_figures
from batchensemble.study.predictions import predictions_sheet, write_predictions
from batchensemble.study.report import grube, write_report
from batchensemble.study.results import QUICK, Study, read_results, write_runs
from batchensemble.study.sensitivity import sensitivity_sheet
from batchensemble.study.sheets import make_sheets
from batchensemble.study.store import Result, Store
from batchensemble.study.tables import write_sheet

NEEDED = {
    "figures": ("matplotlib",),
    "tables in Markdown and LaTeX": ("tabulate",),
    "report": ("itables", "jinja2", "matplotlib"),
}


def write_outputs(folder: Path, n_jobs: int = 1) -> tuple[list[Result], list[str]]:
    """Write all outputs into the folder; returns the results, and lines that say what is where.

    Figures and the charts of the report are drawn by `n_jobs` processes.
    """
    path = folder / "costs.json"
    costs = read_costs(path)
    if costs and not any(Store(folder / "runs")):
        write_sheet(cost_sheet(costs), folder / "tables", "" if is_full(path) else QUICK)
        where = f"Costs: {path}; table: {folder / 'tables'}"
        return [], [where, "No figures, no report: they need runs; leave out `--only costs`"]
    results = read_results(folder)
    study, whole = Study(results, costs), Study(results, costs, paired=True)
    write_runs(results, folder / "runs.csv")
    verdicts = judge_claims(study, whole)
    write_claims(verdicts, folder / "claims.json")
    write_predictions(Store(folder / "runs"), results, folder / "predictions")
    sheets = [*make_sheets(whole), claims_sheet(verdicts)]
    sheets.append(predictions_sheet(results, folder / "predictions"))
    if not study.note:
        sheets.append(sensitivity_sheet(results, costs, verdicts))
    for sheet in sheets:
        if sheet.rows:
            write_sheet(sheet, folder / "tables", study.note)
    label = folder / "NOTE.txt"  # numbers for machines have no place for it
    label.write_text(study.note + "\n") if study.note else label.unlink(missing_ok=True)
    said = [f"Numbers: {folder / 'runs.csv'}; tables: {folder / 'tables'}"]
    judged = [v.verdict for v in verdicts if v.verdict is not None]
    if judged:
        counts = (f"{judged.count(w)} {w}" for w in WORDS)
        said.append(f"Claims: {', '.join(counts)}; {folder / 'claims.json'}")
    missing = [what for what, own in NEEDED.items() if any(find_spec(p) is None for p in own)]
    if "figures" not in missing:
        draw_figures(whole, folder / "figures", n_jobs)
        (folder / "figures" / "grube.svg").write_text(grube())
        said.append(f"Figures: {folder / 'figures'}")
    if missing:
        said.append(f"No {', no '.join(missing)}: pip install 'batchensemble[study]'")
    if "report" not in missing:
        said.append(f"Report: {write_report(folder, folder / 'report.html', n_jobs)}")
    return results, said
