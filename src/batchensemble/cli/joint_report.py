"""The evaluation of a model of several targets on one page: a section for each."""

from collections.abc import Mapping
from pathlib import Path

from batchensemble.cli.evaluation import Evaluation
from batchensemble.cli.joint import energy_words
from batchensemble.cli.report import page_content, rendered
from batchensemble.estimators.joint import JointRegressor
from batchensemble.modelfile.files import replacing


def write_joint_report(
    model: JointRegressor,
    path: Path,
    evaluations: Mapping[str, Evaluation],
    together: Mapping[str, float],
    out: Path,
) -> None:
    """Write the evaluations of the model in the file `path` as a page."""
    parts = {
        name: page_content(model.regressors_[name], path, evaluation)
        for name, evaluation in evaluations.items()
    }
    page = rendered(
        "joint.html.jinja",
        title=f"{', '.join(parts)}: how far to trust {path.name}",
        together=f"{energy_words(together)}." if together else "",
        parts=parts,
    )
    with replacing(out) as file:
        file.write(page.encode(errors="replace"))  # a name of a file may be no text
