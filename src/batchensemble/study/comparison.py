"""Methods side by side: what trains alike is trained once."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from batchensemble.bank import Bank
from batchensemble.methods import Method, make_method

Prediction = TypeVar("Prediction")
Tell = Callable[[str], None]


def compare(
    methods: Sequence[str],
    train: Callable[[Method], Bank],
    predict: Callable[[Bank, Method], list[Prediction]],
    tell: Tell = lambda word: None,
) -> Iterator[tuple[str, Bank, list[Prediction]]]:
    """Each method's word, trained networks and predictions, one after the other."""
    trained: dict[str, Bank] = {}
    for word in methods:
        tell(f"training {word} ...")
        method = make_method(word)
        # MC dropout and the single network are one network, told apart at prediction.
        key = "single" if word == "mc_dropout" else word
        if key not in trained:
            trained[key] = train(method)
        yield word, trained[key], predict(trained[key], method)
