import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from browser import see_all, visiting
from typer.testing import CliRunner

from batchensemble.cli.app import app
from batchensemble.study import report
from batchensemble.study.report import write_report
from batchensemble.study.results import FULL, QUICK, UNFINISHED, Study, label_of
from batchensemble.study.spec import PLAIN, Change, Run, Settings
from batchensemble.study.store import Result, Store

METHODS = ("batch_ensemble", "deep_ensemble", "mc_dropout", "single")
METRICS = {
    "regression": ("rmse", "nll", "rmsce", "miscalibration_area"),
    "classification": ("accuracy", "nll", "brier", "ece"),
    "forecasting": ("rmse", "nll", "rmsce", "miscalibration_area"),
}
SHORT = Settings(epochs=2)


def render(own):
    return report.render(Study(own))


def results(
    dataset="diabetes",
    task="regression",
    variants=("id", "shift"),
    methods=METHODS,
    n_seeds=5,
    settings=FULL,
    change=PLAIN,
):
    random = np.random.default_rng(len(dataset))
    about = {
        "task": task,
        "n_parameters": 1234,
        "n_rows": 442,
        "n_features": 10,
        "n_inputs": 10,
        "n_train": [353] * n_seeds,
        "n_test": [89] * n_seeds,
        "finished": "2026-03-04T05:06:07+00:00",
        "device": "cpu",
        "machine": "a machine",
        "versions": {"torch": "2.9"},
        "python": "3.11",
    }

    def one(variant, method, seed):
        names = (*METRICS[task], "total", "aleatoric", "epistemic")
        # Means of many sizes and both signs: sorting them as text would give another order.
        scale = {"batch_ensemble": -2, "deep_ensemble": 10, "mc_dropout": 9, "single": 0.5}
        metrics = {n: scale.get(method, 3) + 0.01 * random.normal() for n in names}
        curves = {"selective": random.random(15).tolist()}
        if task != "classification":
            curves["coverage"] = random.random(39).tolist()
        run = Run(dataset, variant, method, seed, settings, change)
        return Result(run, metrics, curves, about)

    return [one(v, m, s) for v in variants for m in methods for s in range(n_seeds)]


def study():
    """Full: a table with and a series without shift, a method of one's own, a run that diverged."""
    own = results(methods=(*METHODS, "my_method"))
    lost = own[-1]
    own[-1] = Result(lost.run, {"diverged": 1.0}, {}, lost.about)
    return [*own, *results("my_series", "forecasting", ("id",))]


def fill(folder, own):
    store = Store(folder / "runs")
    for result in own:
        store.write(result)
    return folder


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    return write_report(fill(folder, study()), folder / "new" / "report.html")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    own = results(n_seeds=1, settings=SHORT) + results(
        "breast_cancer", "classification", n_seeds=1, settings=SHORT
    )
    return write_report(fill(folder, own), folder / "report.html")


def switch(visit, variant):
    visit.page.locator(f"label[for=show-{variant}]").click()


def column(page, sheet, i):
    cells = page.locator(f"table[data-sheet='{sheet}'] tbody tr > *:nth-child({i})")
    return cells.all_inner_texts()


# In a browser ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["full", "quick"])
def test_the_page_loads_without_a_word_on_the_console_or_a_request(browser, request, name):
    path = request.getfixturevalue(name)
    with visiting(browser, path) as visit:
        see_all(visit)
        switch(visit, "shift")
        see_all(visit)
        assert visit.troubles == []
        own = [url for url in visit.requests if not url.startswith("blob:")]  # made in the page
        assert own == [path.as_uri()]


def test_trouble_in_a_page_is_noticed(browser, tmp_path):
    path = tmp_path / "broken.html"
    path.write_text(
        "<script>console.warn('careful')</script><script>nothing.there</script>"
        "<img src='https://example.org/a.png'>"
    )
    with visiting(browser, path) as visit:
        assert any("careful" in line for line in visit.troubles)
        assert any("nothing is not defined" in line for line in visit.troubles)
        assert "https://example.org/a.png" in visit.requests


def test_the_page_itself_forbids_the_browser_to_fetch_anything(browser, full):
    with visiting(browser, full) as visit:
        answer = visit.page.evaluate("fetch('https://example.org').catch(() => 'refused')")
        assert answer == "refused"
        assert any("Content Security Policy" in line for line in visit.troubles)


def test_a_table_sorts_by_number_both_ways_and_back_by_mouse_and_keyboard(browser, full):
    sheet = "all-regression-id"
    with visiting(browser, full) as visit:
        head = visit.page.locator(f"table[data-sheet='{sheet}'] thead th").nth(2)
        head.locator("[role=button]").wait_for(state="attached")
        first = column(visit.page, sheet, 2)
        assert first == ["BatchEnsemble", "Deep ensemble", "MC dropout", "Single", "my_method"]
        rising = ["BatchEnsemble", "Single", "my_method", "MC dropout", "Deep ensemble"]
        button = head.locator("[role=button]")
        turns = [(head.click, "ascending", rising), (None, "descending", rising[::-1])]
        for click, direction, order in turns:
            click() if click else button.press("Enter")
            head.and_(visit.page.locator(f"[aria-sort={direction}]")).wait_for()
            assert column(visit.page, sheet, 2) == order
        button.press("Enter")
        head.and_(visit.page.locator(":not([aria-sort])")).wait_for()
        assert column(visit.page, sheet, 2) == first


def test_the_switch_hides_one_variant_and_shows_the_other_with_charts_of_full_width(browser, full):
    with visiting(browser, full) as visit:
        page, section = visit.page, "#data-diabetes"
        width = visit.chart(f"{section} .id").locator("svg").bounding_box()["width"]
        assert width > 200
        for showing, hidden in (("shift", "id"), ("id", "shift"), ("shift", "id")):
            switch(visit, showing)
            for one, other in (("#main", "table"), (section, "table"), (section, ".chart")):
                assert page.locator(f"{one} .{showing} {other}").first.is_visible()
                assert not page.locator(f"{one} .{hidden} {other}").first.is_visible()
            for svg in page.locator(f"{section} .{showing} .chart svg").all():
                assert svg.bounding_box()["width"] == pytest.approx(width, abs=1)
        assert page.locator("#data-my-series .chart").first.is_visible()
        assert page.get_by_text("results only in-distribution").is_visible()


def test_a_chart_follows_the_window_also_while_it_is_hidden(browser, full):
    with visiting(browser, full) as visit:
        wide = visit.chart("#data-diabetes .id").locator("svg").bounding_box()
        switch(visit, "shift")
        visit.page.set_viewport_size({"width": 390, "height": 900})
        switch(visit, "id")
        box = visit.chart("#data-diabetes .id")
        narrow = box.locator("svg").bounding_box()
        assert narrow["width"] == pytest.approx(box.bounding_box()["width"], abs=1)
        assert narrow["width"] < 390
        shapes = [one["height"] / one["width"] for one in (wide, narrow)]
        assert shapes[0] == pytest.approx(shapes[1], rel=0.01)  # scaled, not squeezed
        assert visit.troubles == []


POINTED = """element => {
  const box = element.getBoundingClientRect();
  const at = [box.x + box.width / 2, box.y + box.height / 2];
  let found = document.elementFromPoint(...at);
  while (found && !found.querySelector(":scope > title")) found = found.parentElement;
  return found ? found.querySelector(":scope > title").textContent : "nothing";
}"""


def test_the_pointer_shows_the_numbers_of_all_methods(browser, full):
    with visiting(browser, full) as visit:
        charts = visit.page.locator("#data-diabetes .id .chart")
        curve = charts.filter(has_text="share of rows kept").first
        for chart, words in ((charts.first, ["mean ±"]), (curve, ["BatchEnsemble", "my_method"])):
            chart.scroll_into_view_if_needed()
            mark = chart.locator(".tip :is(use, path):has(title)").first
            tip = mark.evaluate(POINTED)
            assert all(word in tip for word in words)
            assert re.search(r"\d\.\d{3} ± \d\.\d{3}", tip)


SIZES = """all => all.flatMap(svg => [...svg.querySelectorAll("text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a))"""


@pytest.mark.parametrize(("width", "media"), [(390, "screen"), (1280, "screen"), (720, "print")])
def test_words_in_a_chart_can_be_read_on_a_phone_a_screen_and_paper(browser, full, width, media):
    with visiting(browser, full, width=width) as visit:
        visit.page.emulate_media(media=media)
        visit.chart("#data-diabetes .id")
        assert min(visit.page.locator("#data-diabetes .id .chart svg").evaluate_all(SIZES)) >= 9


def luminance(colour):
    parts = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


COLOURS = """element => {
  let behind = element;
  const ground = (e) => getComputedStyle(e).backgroundColor;
  while (behind && /, 0\\)$/.test(ground(behind))) behind = behind.parentElement;
  const style = getComputedStyle(element);
  const ink = element instanceof SVGElement ? style.fill : style.color;
  return [ink, behind ? ground(behind) : "rgb(255, 255, 255)"];
}"""


def test_light_and_dark_differ_and_both_can_be_read(browser, full):
    words = ["h1", "p.lead", ".note", "nav a", "th", "td", ".badge", "figcaption", "label"]
    grounds = []
    for scheme in ("light", "dark"):
        with visiting(browser, full, scheme=scheme) as visit:
            visit.chart("#data-diabetes .id")
            for css in [*words, ".chart svg text"]:
                element = visit.page.locator(css).locator("visible=true").first
                bright = sorted(map(luminance, element.evaluate(COLOURS)))
                assert (bright[1] + 0.05) / (bright[0] + 0.05) >= 4.5, (scheme, css)
            body = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
            grounds.append(luminance(body))
    assert grounds[0] > 0.9
    assert grounds[1] < 0.05


def test_a_phone_scrolls_tables_in_their_boxes_and_never_the_page(browser, full):
    with visiting(browser, full, width=390) as visit:
        see_all(visit)
        page = visit.page
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        scrolls = "boxes => boxes.some(box => box.scrollWidth > box.clientWidth)"
        assert page.locator(".scroll").evaluate_all(scrolls)
        contents = page.locator("nav ol")
        assert not contents.is_visible()
        page.locator("nav summary").click()
        assert contents.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_wide_screen_has_the_contents_beside_the_text(browser, full):
    with visiting(browser, full, width=1440) as visit:
        assert visit.page.locator("nav ol").is_visible()
        text = visit.page.locator("main").bounding_box()
        contents = visit.page.locator("nav").bounding_box()
        assert contents["x"] + contents["width"] <= text["x"]


def test_a_hostile_name_stays_text(browser, tmp_path):
    name = "<script>document.title='taken'<img src=x onerror=document.title='taken'>"
    path = tmp_path / "hostile.html"
    path.write_text(render(results(name, methods=(*METHODS, "a.b['c']<i>"))), encoding="utf-8")
    with visiting(browser, path) as visit:
        box = visit.chart(".dataset .id")
        assert "a.b['c']<i>" in box.locator("svg").text_content()
        tips = visit.page.locator(".dataset .id .tip title").all_text_contents()
        assert any(tip.startswith("a.b['c']<i>: ") for tip in tips)
        assert visit.page.title().startswith("BatchEnsemble")
        assert "<script>" in visit.page.locator(".dataset h2").inner_text()
        assert visit.troubles == []


# As text -----------------------------------------------------------------------------------


def test_nothing_is_loaded_from_outside(full):
    text = full.read_text(encoding="utf-8")
    markup = re.sub(r"(<script[^>]*>).*?</script>", r"\1</script>", text, flags=re.DOTALL)
    loaded = re.findall(r"<[^>]*\b(?:src|href|srcset)\s*=\s*[\"']?([^\"' >]+)", markup)
    assert loaded
    assert all(address.startswith(("#", "data:")) for address in loaded)
    assert {*re.findall(r"url\((.)", markup)} <= {"#"}  # within the page
    assert len(text) < 1_500_000


def test_headings_are_in_order_and_the_page_says_its_language(full):
    text = re.sub(r"<script.*?</script>", "", full.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert '<html lang="en">' in text
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", text)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for link in re.findall(r'href="#([^"]+)"', text):
        assert f'id="{link}"' in text


def test_a_full_study_shows_every_claim_with_its_verdict_and_no_warning(full):
    text = full.read_text(encoding="utf-8")
    assert QUICK not in text
    assert {"C1", "C2", "C35"} <= set(re.findall(r'<tr id="(C\d+)">', text))
    assert 'class="badge' in text


def test_a_quick_study_says_so_everywhere_and_judges_nothing(quick):
    text = quick.read_text(encoding="utf-8")
    body = text[text.index("<body>") : text.index("<noscript>")]
    body = re.sub(r"<svg.*?</svg>", "", body, flags=re.DOTALL)
    for part in (r"<header.*?</header>", r"<figure.*?</figure>"):
        found = re.findall(part, body, flags=re.DOTALL)
        assert found
        assert all(QUICK in one for one in found)
    assert not re.search(r"\bholds?\b|\bpartly\b|not judged|class=\"best|Bold:", body)
    assert "With one seed there is no standard error" in body


@pytest.mark.parametrize(
    "own",
    [
        results(n_seeds=4),
        results(settings=SHORT),
        results() + results("other", n_seeds=1),
        results(methods=METHODS[:3]) + results(methods=METHODS[3:], n_seeds=2),
        [],
    ],
    ids=["four seeds", "few epochs", "one dataset short", "one method short", "nothing"],
)
def test_less_than_five_seeds_of_all_at_full_length_is_not_full(own):
    assert label_of(results()) == ""
    assert label_of(own) in (QUICK, UNFINISHED)


def test_runs_that_diverged_are_told_and_left_out(full):
    text = full.read_text(encoding="utf-8")
    assert "my_method: 1 of 5 runs diverged and is not in the numbers." in text
    assert "1 run of the main study diverged" in text


def test_a_method_all_of_whose_runs_diverged_is_no_failure():
    own = results()
    own = [
        Result(r.run, {"diverged": 1.0}, {}, r.about) if r.run.method == "single" else r
        for r in own
    ]
    assert "Single: 5 of 5 runs diverged and are not in the numbers." in render(own)


def test_a_lone_run_is_not_written_with_a_standard_error():
    own = results(n_seeds=2)
    page = render(own[:1])
    assert "(one run)" in page
    assert "± 0.000" not in page
    assert "(one run)" not in render(own)


def test_how_it_was_made_is_told_in_words():
    own = results()
    own[0].about["versions"] = {"torch": "2.9", "batchensemble": "not installed"}
    page = render(own)
    assert "not installed" not in page
    assert "<dd>torch 2.9</dd>" in page
    assert "<dd>500 epochs, all rows and windows</dd>" in page
    page = render(results(settings=Settings(50, 2_000, 150)))
    assert "<dd>50 epochs, at most 2,000 training rows and 150 windows</dd>" in page


def test_the_commands_that_do_it_again_lead_to_the_folder_that_they_write(quick):
    def commands(page):
        return page[page.index("Reproduce it") :].split("<code>")[1].split("</code>")[0]

    plain = commands(render(results()))
    assert "export BATCHENSEMBLE_DATA=folder\n" in plain
    assert plain.endswith("\nbatchensemble reproduce --profile full")
    page = quick.read_text(encoding="utf-8")
    assert commands(page).endswith("\nbatchensemble reproduce --profile quick")
    assert "It writes results/quick, with this page in it." in page


def test_a_full_study_opens_with_the_abstract_and_its_pictures_and_a_quick_one_does_not(
    full, quick
):
    page = full.read_text(encoding="utf-8")
    parts = ("summary", "abstract", "pictures", "claims", "main")
    places = [page.index(f'id="{part}"') for part in parts]
    assert places == sorted(places)
    other = quick.read_text(encoding="utf-8")
    assert 'id="abstract"' not in other
    assert 'id="pictures"' not in other


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("adult shift: batch_ensemble is better", "shifted Adult: BatchEnsemble is better"),
        ("breast_cancer id: best set is {mc_dropout}", "Breast_cancer: best set is {MC dropout}"),
        ("batch_ensemble last=3,n_hidden=9,dropout=0.0", "BatchEnsemble 3 layers"),
        ("batch_ensemble init=orthogonal,penalty=0.1", "BatchEnsemble orthogonal,penalty 0.1"),
        ("california: mean RMSE grows", "California: mean RMSE grows"),
        ("best_sets", "best sets"),
    ],
)
def test_texts_of_claims_are_told_without_the_names_of_programs(text, words):
    assert report.plain(text) == words


def test_runs_outside_the_main_study_alone_make_a_page_without_sections():
    assert "none of them of the main study" in render(results(change=Change(bounded=False)))


# Errors ------------------------------------------------------------------------------------


def test_a_folder_without_results_is_answered_with_what_to_do(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        done = CliRunner().invoke(app, ["report", str(folder)])
        words = " ".join(done.output.replace("│", " ").split())
        assert done.exit_code == 1
        assert "batchensemble reproduce" in words
        assert "Traceback" not in words


def test_results_of_another_version_are_refused(tmp_path):
    (path,) = fill(tmp_path, results()[:1]).glob("runs/*/*.json")
    path.write_text(re.sub(r'"format": \d+', '"format": 99', path.read_text()))
    with pytest.raises(ValueError, match="another version"):
        write_report(tmp_path, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("package", ["itables", "jinja2", "matplotlib"])
def test_a_missing_package_is_named_with_its_cure_before_anything_is_read(
    tmp_path, monkeypatch, package
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        write_report(tmp_path / "nowhere", tmp_path / "report.html")
    assert str(caught.value) == f"a report needs {package}: pip install 'batchensemble[report]'"
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert "Traceback" not in done.output


def test_the_command_writes_the_page_and_says_where(tmp_path):
    fill(tmp_path, results(n_seeds=1, settings=SHORT))
    out = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["report", str(tmp_path), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "page.html" in done.output
    assert out.read_text(encoding="utf-8").endswith("</html>\n")
