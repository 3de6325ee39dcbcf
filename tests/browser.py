"""Pages as a browser shows them, offline."""

import contextlib
from dataclasses import dataclass, field


@dataclass
class Visit:
    page: object
    troubles: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def chart(self, css):
        """The first such chart, drawn."""
        box = self.page.locator(f"{css} .chart").first
        box.scroll_into_view_if_needed()
        box.locator("svg").wait_for()
        return box


@contextlib.contextmanager
def visiting(browser, path, *, width=1280, scheme="light"):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    context.set_default_timeout(20_000)
    visit = Visit(context.new_page())
    visit.page.on(
        "console",
        lambda m: visit.troubles.append(m.text) if m.type in ("error", "warning") else None,
    )
    visit.page.on("pageerror", lambda error: visit.troubles.append(str(error)))
    visit.page.on("request", lambda request: visit.requests.append(request.url))
    visit.page.goto(path.as_uri())
    yield visit
    context.close()


def see_all(visit):
    """A window so high that every chart is in it, and therefore drawn."""
    size = visit.page.viewport_size
    visit.page.set_viewport_size(
        {**size, "height": visit.page.evaluate("document.body.scrollHeight")}
    )
    visit.page.wait_for_function(
        """() => [...document.querySelectorAll(".chart")].every(
          (box) => !box.offsetParent || box.querySelector("svg"))"""
    )
    visit.page.set_viewport_size(size)
