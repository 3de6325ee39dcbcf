"""The study on one page: an HTML file that needs no other file and no network."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from batchensemble.metrics import COVERAGES, LEVELS
from batchensemble.plots.looks import LOOKS, dataset_name, label, look
from batchensemble.plots.page import check_packages, render_page
from batchensemble.plots.sheets import brief
from batchensemble.study.abstract import judge_abstract, told
from batchensemble.study.best_sets import WORDS as VERDICT_WORDS
from batchensemble.study.claims import Verdict, judge_claims
from batchensemble.study.costs_file import read_costs
from batchensemble.study.overview import claim_strengths, nll_gaps
from batchensemble.study.published import SHAPES
from batchensemble.study.results import Study, read_results
from batchensemble.study.sections import (
    TASKS,
    WORDS,
    headlines,
    in_order,
    main_tables,
    questions,
    sections,
    wins,
)
from batchensemble.study.sensitivity import sensitivity_sheet
from batchensemble.study.sheets import make_sheets
from batchensemble.study.spec import Settings

# Of one claim, and of several.
VERDICTS = {
    "holds": ("holds", "hold"),
    "partly": ("holds in part", "hold in part"),
    "does not hold": ("does not hold", "do not hold"),
}
SHOWN_ABOVE = ("abstract", "main", "ablation")


def grube() -> str:
    """The diagram of the recurrent cell, as SVG."""
    return (files("batchensemble.study") / "page" / "grube.svg").read_text(encoding="utf-8")


def write_report(folder: Path, path: Path, n_jobs: int = 1) -> Path:
    """One self-contained page at `path` from the results in `folder`, as `reproduce` left them.

    `folder/runs` holds the runs; `folder/costs.json`, if there, the measured costs.
    """
    check_packages()
    if path.exists() and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"the report would replace {path}; choose a name that ends in .html")
    results, costs = read_results(folder), read_costs(folder / "costs.json")
    page = render(Study(results, costs), Study(results, costs, paired=True), n_jobs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def render(study: Study, paired: Study | None = None, n_jobs: int = 1) -> str:
    """The page as text; `paired` has the same results, of all seeds, judged by pairs.

    Its verdicts stand beside those of the five seeds; tables and figures are of all seeds.
    """
    full = not study.note
    verdicts = judge_claims(study, paired) if full else []
    study = paired or study
    sheets = {sheet.name: sheet for sheet in make_sheets(study)}
    if full:
        sensitivity = sensitivity_sheet(study.results, study.costs, verdicts)
        sheets |= {sensitivity.name: sensitivity} if sensitivity.rows else {}
    words = [verdict.verdict for verdict in verdicts]
    return render_page(
        "batchensemble.study",
        "report.html.jinja",
        n_jobs=n_jobs,
        filters={"numbers": _numbers, "plain": plain, "told": told},
        note=study.note,
        summary=_summary(study, full=full),
        counts={word: words.count(word) for word in VERDICT_WORDS},
        phrases=VERDICTS,
        n_open=words.count(None),
        verdicts=verdicts,
        paired_counts=_paired_counts(verdicts),
        abstract=judge_abstract(study),
        pictures=[c for c in (nll_gaps(study), claim_strengths(study)) if c and full],
        grube=grube(),
        wins=wins(study) if full and study.places() else None,
        main=main_tables(study, mark_best=full),
        sections=sections(study, sheets),
        sheets=[s for name, s in sheets.items() if name.split("-")[0] not in SHOWN_ABOVE],
        questions=questions(study, sheets, verdicts, full=full),
        looks=[look(method) for method in study.methods()],
        words=WORDS,
        made=_made(study),
        levels=LEVELS,
        coverages=COVERAGES,
    )


def _paired_counts(verdicts: Sequence[Verdict]) -> dict[str, list[int]]:
    """Of all parts that count: how many have each verdict, by intervals and by pairs."""
    both = [
        (part.verdict, beside)
        for verdict in verdicts
        for part, beside in zip(verdict.parts, verdict.paired_parts, strict=False)
        if part.counts
    ]
    return {
        word: [sum(own[i] == word for own in both) for i in (0, 1)]
        for word in (VERDICT_WORDS if both else ())
    }


def _summary(study: Study, *, full: bool) -> list[str]:
    """What was compared on what, and what is missing."""
    places, tasks = in_order(study), study.tasks()
    main = [r for place in places for m in study.methods(place) for r in study.runs[(*place, m)]]
    if not main:
        return [f"{len(study.results)} runs, none of them of the main study."]
    datasets = list(dict.fromkeys(place.dataset for place in places))
    kinds = []
    for task, words in TASKS.items():
        own = [dataset_name(name) for name in datasets if tasks[name] == task]
        if own:
            kinds.append(f"{words[:1].lower()}{words[1:]} ({', '.join(own)})")
    seeds = {r.run.seed for r in main}
    epochs = sorted({r.run.settings.epochs for r in main})
    said = [
        f"{_listed([label(m) for m in study.methods()])} on {_listed(kinds)}. The main study is "
        f"{len(main):,} runs: {_count(len(seeds), 'seed')}, {' or '.join(map(str, epochs))} "
        f"epochs; {_count(len(study.results) - len(main), 'further run')} change one thing each."
    ]
    if full:
        said += headlines(study)
    missing = [dataset_name(name) for name in SHAPES if name not in datasets]
    absent = [f"{_listed(missing)} of the paper's seven datasets"] if missing else []
    absent += [] if study.costs else ["measurements of time and memory"]
    if absent:
        said.append(f"Missing: {'; '.join(absent)}.")
    n_diverged = sum(study.n_diverged(place, m) for place in places for m in study.methods(place))
    if n_diverged:
        said.append(f"{_count(n_diverged, 'run')} of the main study diverged; see the dataset.")
    if len(seeds) == 1:
        said.append("With one seed there is no standard error.")
    return said


def _made(study: Study) -> dict[str, str]:
    """The machine, the versions and the time, as the results tell them."""
    abouts = [result.about for result in study.results]

    def every(key: str) -> list[str]:
        return list(dict.fromkeys(str(about[key]) for about in abouts if key in about))

    versions: dict[str, dict[str, None]] = {}
    for about in abouts:
        for package, number in about.get("versions", {}).items():
            if number != "not installed":
                versions.setdefault(package, {})[number] = None
    days = sorted(time[:10] for time in every("finished"))
    settings = dict.fromkeys(_in_words(result.run.settings) for result in study.results)
    facts = {
        "Finished": " to ".join(dict.fromkeys([days[0], days[-1]])) if days else "",
        "Trained on": ", ".join(every("device")),
        "Machine": "; ".join(every("machine")),
        "Python": ", ".join(every("python")),
        "Code": "; ".join(
            f"commit {code['commit']}, folder src/batchensemble {code['tree'][:12]}"
            for code in {c["tree"]: c for c in (a.get("code") for a in abouts) if c}.values()
        ),
        "Versions": ", ".join(f"{name} {' or '.join(own)}" for name, own in versions.items()),
        "Training": "; ".join(settings),
    }
    return {name: text for name, text in facts.items() if text}


def _in_words(settings: Settings) -> str:
    limits = {"training rows": settings.most_rows, "windows": settings.most_windows}
    cut = [f"{most:,} {things}" for things, most in limits.items() if most is not None]
    of = f"at most {_listed(cut)}" if cut else "all rows and windows"
    return f"{_count(settings.epochs, 'epoch')}, {of}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'s' * (n != 1)}"


# How results name things, and how people do.
PLAIN_WORDS = (
    (r",?\bn_hidden=\d+,dropout=0\.0", ""),
    (r"\blast=(\d+)", r"\1 layers"),
    (r"\bpenalty=([\d.]+)", r"penalty \1"),
    (r"\binit=(\w+)", r"\1"),
    (r"\badapters=(\w+)", r"vectors \1"),
    (r"\bgates=(\w+)", lambda found: f"gates {found[1].upper()}"),
    (r"\b([a-z_]+) shift - id\b", lambda found: f"{dataset_name(found[1])}, change under shift"),
    (r"\b([a-z_]+) id\b", lambda found: dataset_name(found[1])),
    (r"\b([a-z_]+) shift\b", lambda found: f"shifted {dataset_name(found[1])}"),
    (r"^([a-z_]+)(?=:| on )", lambda found: dataset_name(found[1])),
    (r"\b(\w+)_set(s?)\b", r"\1 set\2"),
    (r"\b(" + "|".join(LOOKS) + r")\b", lambda found: label(found[1])),
)


def plain(text: str) -> str:
    """A text of the results without the names that only programs use."""
    for pattern, words in PLAIN_WORDS:
        text = re.sub(pattern, words, text)
    return text


def _numbers(numbers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The numbers behind a verdict, by name; of curves the ends."""
    return [(name, _told(value)) for name, value in numbers.items()]


def _told(value: Any) -> str:
    match value:
        case {"mean": [first, *_, last] as means, "se": [first_se, *_, last_se]}:
            ends = f"{_told([first, first_se])} to {_told([last, last_se])}"
            return f"{ends} ({len(means)} points)"
        case [float() as mean, float() as se]:
            return f"{brief(mean)} ± {brief(se)}" if se else brief(mean)
        case float():
            return brief(value)
        case dict():
            return ", ".join(f"{name} {_told(own)}" for name, own in value.items())
        case list():
            return "{" + ", ".join(_told(one) for one in value) + "}"
        case _:
            return str(value)
