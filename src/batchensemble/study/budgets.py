"""Rivals of equal size: layer widths that use up another method's count of parameters."""

from collections.abc import Callable
from itertools import count as from_number
from itertools import product

SHARE = 0.95


def widths_within(n_parameters: Callable[[int, int], int], budget: int) -> tuple[int, int]:
    """The most equal two widths whose parameters are 95 to 100 % of the budget; of these the most.

    n_parameters   of all networks of a model, by the widths of its first and its later layers
    """
    equal = next(width for width in from_number(1) if n_parameters(width + 1, width + 1) > budget)
    if n_parameters(equal, equal) >= SHARE * budget:
        return equal, equal
    near = range(max(1, equal - 4), equal + 9)
    sizes = {(a, b): n_parameters(a, b) for a, b in product(near, near)}
    fitting = [widths for widths, size in sizes.items() if SHARE * budget <= size <= budget]
    if not fitting:
        raise ValueError(
            f"no widths near {equal} give {SHARE:.0%} to 100 % of {budget:,} parameters; "
            f"those of width {equal} give {sizes.get((equal, equal), 0):,}"
        )
    return min(fitting, key=lambda widths: (abs(widths[0] - widths[1]), -sizes[widths]))
