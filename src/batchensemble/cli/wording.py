"""The library's sentences for the command line: options instead of arguments of Python."""

import re

OPTIONS = "freq|fill|horizon|holidays|preset|method|epochs|time_limit"

# What the library says, as a pattern, and what the same is called here; in this order.
IN_OPTIONS = (
    (r"pass freq='[^']*' \((--freq \S+) on the command line\)", r"add \1"),
    (r"pass fill='(\w+)' or '(\w+)'", r"add --fill \1 or --fill \2"),
    (
        r"X\['(?P<name>[^']*)'\]\.astype\(str\), or --category on the command line",
        r"add --category \g<name>",
    ),
    (r"--decimal \. or --decimal , on the command line", r"--decimal . or --decimal ,"),
    (r"leave it out \(--drop on the command line\)", r"leave it out with --drop"),
    (
        r"convert (it|the column|them) with pd\.to_datetime(\(.*?\))*",
        r"add --dayfirst or --no-dayfirst",
    ),
    (r" \(polars: \.str\.to_datetime\(\)\)", r""),
    (r"calibrate with per_class=True", r"fit with --per-class"),
    (r"fit with calibrate=True, or calibrate with newer observations", r"fit with --calibrate"),
    (r"fit without calibrate=True", r"add --no-calibrate"),
    (r"calibrate=True", r"--calibrate"),
    (r"with a threshold, or class_weight, or better columns", r"with a threshold, or add columns"),
    (r"; raise max_categories to tell them apart", r""),
    (r"target_bounds=\(low, high\)", r"--target-bounds LOW HIGH"),
    (r"\btarget_bounds\b", r"--target-bounds"),
    (r"pass other --", r"add other --"),
    (r"target_scaling='(\w+)'", r"--target-scaling \1"),
    (r"\btarget='(\w+)'", r"--target-kind \1"),
    (rf"\b({OPTIONS})=(?:'([^']*)'|(\d[\w.]*))", r"--\1 \2\3"),
    (r"\bfreq=(?=[ ,;]|$)", r"--freq"),
    (r"\(freq\)|(?<=coarser )freq\b", r"--freq"),
    (r"(?<!['\w])(future|past|static)_columns\b=?", r"--\1"),
    (r"The 'random_state' parameter of \w+", r"--seed"),
    (r"The 'n_members' parameter of \w+", r"--members"),
    (r"The '(\w+)' parameter of [A-Z]\w+", r"--\1"),
    (r"choose a fill, \"(\w+)\" or \"(\w+)\"", r"add --fill \1 or --fill \2"),
    (r"\b(?:pass|use) (--)", r"add \1"),
)


def in_options(text: str) -> str:
    """A sentence about arguments, for somebody who types options."""
    for pattern, words in IN_OPTIONS:
        text = re.sub(pattern, words, text)
    return re.sub(r"--time_limit", "--time-limit", text)
