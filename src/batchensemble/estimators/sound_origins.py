"""Whether what a file says about where a model comes from can be shown."""

from typing import Any

from batchensemble.estimators.requirements import is_count, require

NEEDED = {"file": str, "task": str, "target": str, "columns": dict}
OTHERS = {
    **dict.fromkeys(("why", "judged_on", "calibrated"), str),
    **dict.fromkeys(("left_out", "scores", "notations", "censored"), dict),
    **dict.fromkeys(("notes", "warnings"), list | tuple),
}
COUNTS = ("n_rows", "n_without_target", "n_learned", "n_judged")


def check_origin(origin: Any) -> None:
    """`origin_` of a model that the command line fitted; None of others."""
    if origin is None:
        return
    require(isinstance(origin, dict) and NEEDED.keys() <= origin.keys(), "an origin with its parts")
    for name, kind in (NEEDED | OTHERS).items():
        require(name not in origin or isinstance(origin[name], kind), f"an origin with a {name}")
    require(all(is_count(origin.get(name, 0), least=0) for name in COUNTS), "numbers of rows")
    words = [origin["columns"], origin.get("left_out", {}), *origin.get("notations", {}).values()]
    require(all(isinstance(each, dict) for each in words), "an origin with columns")
    texts = [text for each in words for text in (*each, *each.values())]
    texts += [*origin.get("notes", ()), *origin.get("warnings", ())]
    require(all(isinstance(text, str) for text in texts), "an origin in words")
