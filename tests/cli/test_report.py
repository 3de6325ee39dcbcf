import sys
from dataclasses import replace
from html import escape
from importlib.util import find_spec

import pytest
from browser import see_all, visiting
from sample_files import QUICK, houses, sales

from batchensemble import load
from batchensemble.cli.comparison import evaluate_file as evaluate
from batchensemble.cli.evaluation import Curve
from batchensemble.cli.format import percent
from batchensemble.cli.report import page_content, render
from batchensemble.cli.scores import sampling_words
from batchensemble.cli.subgroups import N_EXPLAINED
from batchensemble.cli.verdict import in_short
from batchensemble.plots.sheets import brief

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("itables", reason="itables is not installed")


WRITTEN: dict[str, bytes] = {}  # pages, each made once


@pytest.fixture(params=["price.be", "town.be", "sales.be"])
def page(request, shell):
    path = shell.folder / "report.html"
    if request.param not in WRITTEN:
        if request.param == "sales.be":
            sales().query("month >= '2022-01-01'").to_csv("test.csv", index=False)
        shell("evaluate", request.param, "test.csv", "-o", "report.html")
        WRITTEN[request.param] = path.read_bytes()
    path.write_bytes(WRITTEN[request.param])
    return path


def n_charts(page):
    """Two of promises and two of pairs or series; a toy's one point of confidence is no chart.

    Of series also one of coverage in time; of a table three parts of each row that is explained.
    """
    text = page.read_text()
    if "of sales" in text:
        return 5
    explained = 3 * N_EXPLAINED if find_spec("shap") else 0
    return explained + (1 if "of town" in text else 4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_draws_everything_offline_on_a_phone_and_on_a_screen(browser, page, scheme):
    for width in (390, 1200):
        with visiting(browser, page, width=width, scheme=scheme) as visit:
            see_all(visit)
            assert visit.troubles == []
            assert {url.split(":")[0] for url in visit.requests} <= {"file", "blob", "data"}
            assert visit.page.locator(".chart svg").count() == n_charts(page)
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert visit.page.evaluate(wide) == 0
            links = visit.page.locator("nav a")
            anchors = links.evaluate_all("all => all.map(a => a.getAttribute('href'))")
            assert all(visit.page.locator(anchor).count() == 1 for anchor in anchors)


def text_of(shell, name, data="test.csv"):
    model = load(name)
    found = evaluate(model, shell.folder / data, target=None, coverage=0.9)
    return found, render(model, shell.folder / name, found)


def test_a_page_says_what_matters_first(shell):
    found, page = text_of(shell, "price.be")
    assert f"the typical error is {found.scores['rmse']:.1f}" in page
    assert "<td" in page
    assert "Truth and prediction" in page
    assert "Careful" not in page
    _, page = text_of(shell, "town.be")
    assert "always predicting the most common class" in page
    assert "Right and wrong, by class" in page
    assert f"Its {percent(0.9)} sets covered" in page
    assert "12 rows for its sets" in page


def test_a_page_begins_with_a_verdict_and_shows_parts_residuals_and_what_calibration_changed(shell):
    found, page = text_of(shell, "price.be")
    verdict = in_short(found)
    assert page.index(escape(verdict)) < page.index("Judged on ")
    assert page.count("typical error is") == 1  # said once
    assert "than always predicting the mean" in verdict
    for words in ("Residuals", "before calibration", "Coverage in parts of the file", "<details>"):
        assert words in page
    std = found.scores["total"] ** 0.5
    assert f">{brief(std)}<" in page  # a standard deviation, and the variance a click away
    assert page.index(f">{brief(std)}<") < page.index(f">{brief(found.scores['total'])}<")
    found, page = text_of(shell, "town.be")
    n, recall, precision = found.classes.rows[0][1:4]
    for share, rows in ((recall, n), (precision, found.predicted[0])):
        assert f">{brief(share)} ({sampling_words(share, rows)})<" in page
    inside = found.classes.rows[0][-1]
    assert f">{brief(inside)} ({sampling_words(inside, n)})<" in page
    assert "Accuracy and coverage of sets in parts of the file" in page


def test_a_verdict_stands_before_what_to_be_careful_of(shell):
    shell("fit", "houses.csv", "-t", "price", *QUICK, "-o", "here.be")
    found, page = text_of(shell, "here.be", "houses.csv")
    banner = page.index('<p class="banner"><b>Careful:</b> the model learned from this file')
    assert page.index(escape(in_short(found)), page.index("<h1>")) < banner


def test_one_point_is_no_chart(shell):
    model, path = load("town.be"), shell.folder / "town.be"
    found = evaluate(model, shell.folder / "test.csv", target=None, coverage=0.9)

    def titles(at):
        some = [0.5] * len(at)
        drawn = replace(found, calibration=Curve("confidence", "accuracy", at, some, [9] * len(at)))
        return [chart.title for chart in page_content(model, path, drawn)["charts"]]

    assert "Confidence and accuracy" in titles([0.6, 0.8])
    assert "Confidence and accuracy" not in titles([0.6])
    assert "Confidence and accuracy" not in titles([0.6, 0.6])


def test_every_share_in_a_chart_has_its_standard_error(shell):
    found, page = text_of(shell, "price.be")
    assert "Band: plus or minus a standard error." in page
    share = found.calibration.values[0]
    error = (share * (1 - share) / found.n_rows) ** 0.5
    assert f"calibrated {share:.3f} ± {error:.3f}" in page
    assert f"before calibration {found.uncalibrated.values[0]:.3f} ± " in page


def test_the_history_stands_before_a_forecast(shell):
    sales().query("month >= '2022-01-01'").to_csv("test.csv", index=False)
    found, _ = text_of(shell, "sales.be")
    windows, stores = found.detail.frame, sales()
    for name, rows in found.detail.history.groupby("series"):
        window = windows[windows["series"] == name]
        assert len(rows) == 12
        assert rows["time"].max() == window["cutoff"].iloc[0] < window["time"].min()
        known = stores[stores["store"] == name].set_index("month")["sales"]
        expected = known.loc[rows["time"].dt.strftime("%Y-%m-%d")]
        assert rows["truth"].tolist() == expected.tolist()


def test_years_and_numbers_of_things_have_no_separators(shell):
    frame = houses().assign(rooms=lambda f: 1990 + f["rooms"])
    frame.to_csv("years.csv", index=False)
    shell("fit", "years.csv", "-t", "price", *QUICK)
    page = text_of(shell, "years.be", "years.csv")[1]
    assert any(f">{year}<" in page for year in range(1991, 1999))
    assert ">1,99" not in page


def test_a_page_of_forecasts_explains_its_words(shell):
    sales().query("month >= '2022-01-01'").to_csv("test.csv", index=False)
    _, page = text_of(shell, "sales.be")
    assert "Judged on 18 windows of 4 steps (24 rows) of test.csv." in page
    assert "A window is one forecast, from its last known time." in page
    assert "than always repeating the last season" in page
    assert "Line: mean; band: interval of 90" in page


def test_every_chart_is_drawn_before_anybody_sees_it_and_is_printed(browser, page):
    with visiting(browser, page) as visit:
        charts, drawn = visit.page.locator(".chart"), visit.page.locator(".chart svg")
        assert drawn.count() == charts.count() == n_charts(page)
        first = visit.page.pdf()
        drawn.evaluate_all("all => all.forEach(svg => svg.remove())")
        assert len(visit.page.pdf()) < len(first)


def test_a_chart_is_called_by_its_caption(browser, page):
    with visiting(browser, page) as visit:
        see_all(visit)
        for figure in visit.page.locator("figure:has(.chart)").all():
            caption = figure.locator("figcaption").evaluate("one => one.firstChild.textContent")
            assert figure.locator(".chart").get_attribute("aria-label").startswith(caption.strip())


def test_the_scores_are_all_to_be_seen_on_a_phone(browser, page):
    with visiting(browser, page, width=390) as visit:
        box = visit.page.locator(".scroll:has([data-sheet=scores])")
        hidden = "box => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]"
        assert box.evaluate(hidden) == [0, 0]


@pytest.mark.parametrize("unit", [1e-6, 100.0])
def test_numbers_have_digits_that_count_whatever_their_unit(shell, unit):
    frame = houses().assign(price=lambda f: unit * f["price"])
    frame.to_csv("other.csv", index=False)
    shell("fit", "other.csv", "-t", "price", "-o", "other.be", *QUICK)
    found, page = text_of(shell, "other.be", "other.csv")
    row = found.doubtful.rows[0]
    assert all(f">{brief(number)}</td>" in page for number in row[1:6])


def test_a_page_of_the_file_that_was_learned_from_says_so(shell):
    shell("fit", "houses.csv", "-t", "price", *QUICK, "-o", "here.be")
    _, page = text_of(shell, "here.be", "houses.csv")
    assert "the model learned from this file, so its scores are too good" in page


def test_what_stands_in_a_file_cannot_become_part_of_the_page(shell):
    bad = "<script>alert(1)</script>"
    frame = shell.read("test.csv", dtype=str).assign(town=bad)
    frame.to_csv("bad.csv", index=False)
    _, page = text_of(shell, "price.be", "bad.csv")
    assert bad not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


@pytest.mark.parametrize("package", ["itables", "jinja2", "matplotlib"])
def test_a_missing_package_is_named_in_one_line_before_the_file_is_read(
    shell, monkeypatch, package
):
    monkeypatch.setitem(sys.modules, package, None)
    done = shell("evaluate", "price.be", "nowhere.csv", "-o", "report.html", code=1)
    assert f"a report needs {package}: pip install 'batchensemble[report]'" in done.stderr
    assert not (shell.folder / "report.html").exists()


@pytest.mark.parametrize("name", ["m.html", "test.html"])
def test_a_page_replaces_neither_the_model_nor_the_rows(shell, name):
    (shell.folder / "price.be").rename("m.html")
    (shell.folder / "test.html").symlink_to("test.csv")
    before = (shell.folder / name).read_bytes()
    done = shell("evaluate", "m.html", "test.csv", "-o", name, code=1)
    assert f"the output would overwrite the input {name}; choose another path" in done.stderr
    assert (shell.folder / name).read_bytes() == before
