"""Turn anyone's network into a BatchEnsemble, and a BatchEnsemble into its folded form.

A converted network sees the member axis everywhere, so everything in it must leave that axis
alone. Modules known to do so are kept or get parameters per member; modules known to mix it with
channels, time or features raise an error, and nothing is half-converted.
"""

import copy
from collections.abc import Callable, Collection

from torch import Generator, nn

from batchensemble.nn.linear import BatchEnsembleLinear, FoldedLinear
from batchensemble.nn.norm import MemberBatchNorm, MemberLayerNorm

Select = Callable[[str, nn.Linear], bool] | Collection[str]

# Leaves of torch.nn that treat every vector along the last axis alike, or every element.
_POINTWISE = (
    nn.Identity,
    nn.Dropout,
    nn.AlphaDropout,
    nn.Embedding,
    *(getattr(nn, name) for name in nn.modules.activation.__all__ if name not in {
        "GLU", "LogSoftmax", "MultiheadAttention", "PReLU", "Softmax", "Softmax2d", "Softmin"
    }),
)  # fmt: skip
_ALONG_AN_AXIS = (nn.GLU, nn.LogSoftmax, nn.Softmax, nn.Softmin)
_CONTAINERS = (nn.Module, nn.Sequential, nn.ModuleList, nn.ModuleDict)


def convert(
    module: nn.Module,
    n_members: int,
    *,
    select: Select | None = None,
    keep_weights: bool = True,
    leave: tuple[type[nn.Module], ...] = (),
    adapters: str = "rsb",
    init: str = "random_sign",
    generator: Generator | None = None,
) -> nn.Module:
    """Copy a network and turn its linear layers into BatchEnsemble layers.

    The copy maps (batch, ..., members, features) to (batch, ..., members, outputs); show one
    batch to every member with `expand_members(x, n_members)`. The original is not touched.

    select        which linear layers: names as in `module.named_modules()` (a name selects all
                  layers beneath it) or a function of name and layer; default: all.
    keep_weights  keep weights and biases (each member starts with the layer's bias); with
                  `init="ones"` every member then equals the original network. False draws new
                  weights and sets the biases to zero.
    leave         further module types that are known to leave the member axis alone.

    Only modules are seen: what `forward` does with functions, such as `torch.flatten(x, 1)` or
    `softmax(x, dim=1)`, must itself leave the axis before the last alone. A BatchNorm1d is taken
    for one over (batch, features), not over the channels of a sequence.

    Layers used twice stay one layer, and tied weights stay tied, unless members own them (the
    letters w and b). Shared weights that are frozen stay frozen; what each member owns is trained
    (see `requires_grad_`). LayerNorm, RMSNorm and BatchNorm1d get parameters (and statistics) per
    member, whatever `select` says. Activations, dropout and embeddings stay as they are.
    Convolutions, attention, recurrent layers, pooling, flattening, group and instance norms, and
    softmax over another axis than the last are refused.
    """
    _check_module(module)
    if not isinstance(adapters, str) or not isinstance(leave, tuple):
        raise TypeError(
            "expected adapters as letters, such as 'rsb', and leave as a tuple of module types, "
            f"such as (nn.Flatten,), got {adapters!r} and {leave!r}"
        )
    _check_select(select)
    _refuse_hooks(module, nn.Linear, nn.LayerNorm, nn.RMSNorm, nn.BatchNorm1d)
    module = copy.deepcopy(module)
    converted: dict[int, nn.Module] = {}
    used: set[str] = set()
    names: dict[int, list[str]] = {}
    for name, child in module.named_modules(remove_duplicate=False):
        names.setdefault(id(child), []).append(name)

    def replacement(name: str, child: nn.Module) -> nn.Module:
        if id(child) not in converted:
            converted[id(child)] = new(name, child)
        return converted[id(child)]

    def new(name: str, child: nn.Module) -> nn.Module:
        if type(child) is nn.Linear:
            if not _selected(names[id(child)], child, select, used):
                return child
            return _batch_ensemble(child, n_members, keep_weights, adapters, init, generator)
        if isinstance(child, (*leave, *_POINTWISE)):
            return child
        if isinstance(child, nn.LayerNorm | nn.RMSNorm) and _is_over_features(child):
            return MemberLayerNorm(child, n_members).train(child.training)
        if type(child) is nn.BatchNorm1d:
            return MemberBatchNorm(child, n_members)
        _refuse_if_it_mixes_members(name, child)
        # Not named_children(), which leaves out the second name of a layer used twice.
        for key, grandchild in child._modules.items():
            if grandchild is not None:
                child._modules[key] = replacement(f"{name}.{key}".lstrip("."), grandchild)
        return child

    result = replacement("", module)
    _check_names_were_found(select, used, module)
    if not any(isinstance(m, BatchEnsembleLinear) for m in result.modules()):
        raise ValueError(
            "expected at least one torch.nn.Linear to convert, got none"
            + (" that select= chose" if select is not None else f" in {type(module).__name__}")
        )
    return result


def fold(module: nn.Module) -> nn.Module:
    """A copy for inference, with every BatchEnsemble layer folded; same inputs and outputs."""
    _check_module(module)
    _refuse_hooks(module, BatchEnsembleLinear)
    if isinstance(module, BatchEnsembleLinear):
        return module.fold()
    module = copy.deepcopy(module).eval()
    folded: dict[int, nn.Module] = {}
    for parent in list(module.modules()):
        if isinstance(parent, FoldedLinear):  # holds the layer it was made of
            continue
        for key, child in parent._modules.items():
            if isinstance(child, BatchEnsembleLinear):
                if id(child) not in folded:
                    folded[id(child)] = child.fold()
                parent._modules[key] = folded[id(child)]
    return module


def _check_module(module: nn.Module) -> None:
    if not isinstance(module, nn.Module):
        raise TypeError(f"expected a torch.nn.Module, got {type(module).__name__}")


def _batch_ensemble(
    linear: nn.Linear,
    n_members: int,
    keep_weights: bool,
    adapters: str,
    init: str,
    generator: Generator | None,
) -> BatchEnsembleLinear:
    has_bias = linear.bias is not None
    layer = BatchEnsembleLinear(
        linear.in_features,
        linear.out_features,
        n_members,
        adapters=adapters if has_bias else adapters.replace("b", ""),
        init=init,
        bias=has_bias,
        generator=generator,
        device=linear.weight.device,
        dtype=linear.weight.dtype,
    )
    for name, letter in (("weight", "w"), ("bias", "b")):
        old, new = getattr(linear, name), getattr(layer, name)
        if old is None:
            continue
        if keep_weights:
            new.data.copy_(old.data.expand_as(new))
        if letter not in adapters:
            # The parameter itself stays: frozen if it was, and tied to that of another layer.
            old.data.copy_(new.data)
            setattr(layer, name, old)
    return layer.train(linear.training)


def _is_over_features(norm: nn.LayerNorm | nn.RMSNorm) -> bool:
    """A subclass may do anything, so it does not count as a norm over the last axis."""
    return type(norm) in (nn.LayerNorm, nn.RMSNorm) and len(norm.normalized_shape) == 1


def _selected(names: list[str], layer: nn.Linear, select: Select | None, used: set[str]) -> bool:
    """Whether a layer is selected; a layer used several times has several names."""
    if select is None:
        return True
    if callable(select):
        return any(select(name, layer) for name in names)
    chosen = {
        wanted
        for wanted in select
        if any(name == wanted or name.startswith(f"{wanted}.") for name in names)
    }
    used |= chosen
    return bool(chosen)


def _check_select(select: Select | None) -> None:
    is_names = isinstance(select, Collection) and not isinstance(select, str)
    if not (select is None or callable(select) or is_names):
        raise TypeError(f"expected select to be a list of names or a function, got {select!r:.80}")


def _check_names_were_found(select: Select | None, used: set[str], module: nn.Module) -> None:
    if select is None or callable(select):
        return
    missing = sorted(set(select) - used)
    if missing:
        known = [name for name, child in module.named_modules() if type(child) is nn.Linear]
        raise ValueError(
            f"expected select to name linear layers or what holds them, got {missing}; "
            f"the plain linear layers left are {known}"
        )


def _refuse_hooks(module: nn.Module, *replaced: type[nn.Module]) -> None:
    """A new layer would lose those of the old one, which weight norms and pruning rely on."""
    for name, child in module.named_modules():
        whens = ("forward", "forward_pre", "backward", "backward_pre")
        if type(child) in replaced and any(getattr(child, f"_{when}_hooks") for when in whens):
            where = f"{type(child).__name__} at {name!r}" if name else type(child).__name__
            raise ValueError(
                f"{where} has hooks, which would be lost; "
                "remove them (or the weight norm or pruning they do) first"
            )


def _refuse_if_it_mixes_members(name: str, child: nn.Module) -> None:
    where = f"{type(child).__name__} at {name!r}" if name else type(child).__name__
    if isinstance(child, BatchEnsembleLinear):
        raise ValueError(f"expected a plain network, got {where}: it has members already")
    if isinstance(child, _ALONG_AN_AXIS) and child.dim != -1:
        raise ValueError(
            f"{where} works along axis {child.dim}, which the member axis would move; "
            "give it dim=-1 before converting"
        )
    if isinstance(child, nn.Linear):
        raise ValueError(
            f"{where} is a special kind of linear layer, whose behaviour would be lost; "
            "replace it by torch.nn.Linear (remove parametrisations, run lazy layers once), "
            "or list its type in leave= to keep it as it is"
        )
    if isinstance(child, _ALONG_AN_AXIS) or (
        isinstance(child, nn.PReLU) and child.num_parameters == 1
    ):
        return
    if any(c.__module__.startswith("torch.nn") and c not in _CONTAINERS for c in type(child).mro()):
        raise ValueError(
            f"{where} would take the member axis for channels, time or features; "
            "convert the parts of the network without it, or, if it is known to leave the axis "
            "before the last alone, list its type in leave="
        )
