"""Lather's first-order and Kronecker methods as ``torch.optim`` optimizers, on the CPU and on CUDA.

    import lather.torch
    optimizer = lather.torch.SSeSOAP(model.parameters(), lr=3e-3)
    loss.backward()
    optimizer.step()

Parameter groups, learning-rate schedulers, gradient clipping, closures and ``state_dict`` work as with ``torch.optim``.
The optimizer computes in float64 whatever the parameters are (float64 or float32). A weight of shape (outputs, inputs)
is a matrix with that many rows and columns; of tensors with more dimensions the first one counts the rows.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ._arguments import function, number, optional, wrong_type
from .optimizer import Optimizer as _Method
from .optimizer import optimizers as _optimizers

# torch's usual names for our options.
_ALIASES = {"lr": "learning_rate", "eps": "epsilon"}


class LatherOptimizer(torch.optim.Optimizer):
    """The base of all optimizers here; ``name`` is that of Lather's catalogue."""

    name = ""
    preset: dict[str, Any] = {}

    def __init__(self, params: Iterable[Any], lr: float | None = None, **options: Any) -> None:
        entry = _optimizers(self.name)
        self._default_rate = float(_default(entry, "learning_rate"))
        self._known = {option["name"] for option in entry["options"]}
        defaults = self._options({**self.preset, **options, "lr": self._default_rate if lr is None else lr})
        if "beta1" in self._known and "beta2" in self._known:  # schedulers that cycle momentum look for betas
            defaults["betas"] = (defaults.pop("beta1", float(_default(entry, "beta1"))),
                                 defaults.pop("beta2", float(_default(entry, "beta2"))))
        self._members: list[_Member] = []
        super().__init__(params, defaults)

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Names as torch has them; what no option is called is refused, with the nearest name."""
        options = dict(given)
        betas = options.pop("betas", None)
        if betas is not None:
            if not isinstance(betas, (tuple, list)) or len(betas) != 2:
                raise wrong_type("betas", "a pair of numbers", betas)
            options["beta1"], options["beta2"] = betas
        if "epsilon" in options:
            options["eps"] = options.pop("epsilon")
        if "learning_rate" in options:
            options["lr"] = options.pop("learning_rate")
        options["lr"] = number("lr", options["lr"], 0)
        checked = {_ALIASES.get(key, key): value for key, value in options.items()}
        checked["learning_rate"] = float(options["lr"]) or self._default_rate
        _Method({"name": self.name, **checked}, {"x": (1,)})
        return options

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if not isinstance(param_group, dict):
            raise wrong_type("param_group", "a dict", param_group)
        own = {k: v for k, v in param_group.items() if k not in ("params", "initial_lr")}
        if "lr" in self.defaults and own:
            self._options({**self._settings({**self.defaults, **own}), "lr": own.get("lr", self.defaults["lr"])})
        super().add_param_group(param_group)

    def _settings(self, group: dict[str, Any]) -> dict[str, Any]:
        """Options of a group by Lather's names, without the learning rate. What schedulers leave there is not ours."""
        settings = {}
        for key, value in group.items():
            if key == "betas":
                settings["beta1"], settings["beta2"] = map(float, value)
            elif _ALIASES.get(key, key) in self._known and key != "lr":
                settings[_ALIASES.get(key, key)] = value
            elif key not in _TORCHS_OWN:
                settings[key] = value  # refused when it is checked
        return settings

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """One step; with a closure, after evaluating it."""
        loss = None
        if optional(function, "closure", closure) is not None:
            with torch.enable_grad():
                loss = closure()
        for index, group in enumerate(self.param_groups):
            for member in self._members_of(index, group):
                member.step(group)
        return loss

    def _members_of(self, index: int, group: dict[str, Any]) -> list[_Member]:
        """Parameters that got their first gradients together share one optimizer."""
        members = [m for m in self._members if m.group == index]
        served = {id(p) for m in members for p in m.parameters}
        new = [p for p in group["params"] if p.grad is not None and id(p) not in served]
        for device in dict.fromkeys(p.device for p in new):
            member = _Member(self, index, [p for p in new if p.device == device])
            self._members.append(member)
            members.append(member)
        return [m for m in members if any(p.grad is not None for p in m.parameters)]

    def objective_changed(self) -> None:
        """Says that the loss is another function now: differences of gradients across the change are void."""
        for member in self._members:
            if member.method is not None:
                member.method.objective_changed()

    # -- saving --------------------------------------------------------------------------------------
    def _saved_members(self) -> list[dict[str, Any]]:
        numbers = {id(p): k for k, p in enumerate(p for g in self.param_groups for p in g["params"])}
        return [{"parameters": [numbers[id(p)] for p in m.parameters], "base_rate": m.base_rate,
                 "state": torch.frombuffer(bytearray(m.method.save()), dtype=torch.uint8)}
                for m in self._members if m.method is not None]

    def _restore_members(self, saved: list[dict[str, Any]]) -> None:
        places = [(g, p) for g, group in enumerate(self.param_groups) for p in group["params"]]
        self._members = []
        for entry in saved:
            chosen = [places[k] for k in entry["parameters"]]
            member = _Member(self, chosen[0][0], [p for _, p in chosen])
            member.saved, member.base_rate = bytes(entry["state"].cpu().numpy().tobytes()), entry["base_rate"]
            self._members.append(member)

    def state_dict(self) -> dict[str, Any]:
        """As torch's, with Lather's state under ``lather``: bytes that either device reads back, bit for bit."""
        return {**super().state_dict(), "lather": self._saved_members()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not isinstance(state_dict, dict) or "lather" not in state_dict:
            raise ValueError(f"this is not the state of lather.torch.{type(self).__name__}: 'lather' is missing")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lather"})
        self._restore_members(state_dict["lather"])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_known": self._known, "_default_rate": self._default_rate,
                "_saved": self._saved_members()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.pop("_saved", None)
        super().__setstate__(state)
        if saved is not None:
            self._restore_members(saved)


# What torch and its schedulers keep in a group besides options.
_TORCHS_OWN = {"params", "lr", "initial_lr", "max_lr", "min_lr", "max_momentum", "base_momentum", "swa_lr",
               "foreach", "maximize", "capturable", "differentiable", "fused", "param_names"}


def _default(entry: dict[str, Any], option: str) -> str:
    return next(o["default"] for o in entry["options"] if o["name"] == option)


class _Member:
    """One optimizer of Lather's for parameters on one device."""

    def __init__(self, owner: LatherOptimizer, group: int, parameters: list[Any]) -> None:
        self.owner, self.group, self.parameters = owner, group, parameters
        self.method: _Method | None = None
        self.saved: bytes | None = None
        self.base_rate = 0.0
        self._made_with: Any = None

    def _blocks(self) -> list[dict[str, Any]]:
        return [{"name": f"parameter {k} of group {self.group}", "shape": tuple(p.shape)}
                for k, p in enumerate(self.parameters)]

    def _prepare(self, group: dict[str, Any]) -> _Method:
        device = self.parameters[0].device.type
        if device not in ("cpu", "cuda"):
            raise ValueError(f"parameters on the device '{device}': expected cpu or cuda")
        rate = float(group["lr"])
        settings = {"name": self.owner.name, **self.owner._settings(group)}
        if self.method is None or self._made_with != (settings, device):
            state = self.saved if self.method is None else self.method.save()
            if self.base_rate == 0:
                self.base_rate = rate if rate > 0 else self.owner._default_rate
            self.method = _Method({**settings, "learning_rate": self.base_rate}, self._blocks(), device)
            if state is not None:
                self.method.load(state)
            self._made_with, self.saved = (settings, device), None
        self.method.set_rate_factor(rate / self.base_rate)
        return self.method

    def step(self, group: dict[str, Any]) -> None:
        method = self._prepare(group)
        tensors, copies = [], []
        for k, p in enumerate(self.parameters):
            g = p.grad
            if g is None:
                raise RuntimeError(f"{self._blocks()[k]['name']} has no gradient now, but it had one together with the "
                                   "others of its group; put such parameters into a group of their own")
            if g.is_sparse:
                raise RuntimeError("sparse gradients are not supported")
            w = p
            if not p.is_contiguous():
                w = p.contiguous()
                copies.append((p, w))
            tensors.append((w, g.to(p.dtype).contiguous()))
        if self.parameters[0].is_cuda:
            with torch.cuda.device(self.parameters[0].device):
                report = method.apply(tensors)
        else:
            report = method.apply(tensors)
        for p, w in copies:
            p.copy_(w)
        if report.status == "non_finite":
            warnings.warn(f"lather.torch.{type(self.owner).__name__}: {report.message}; parameters are left as they were",
                          RuntimeWarning, stacklevel=4)


def _make(class_name: str, name: str, **preset: Any) -> type[LatherOptimizer]:
    entry = _optimizers(name)
    lines = [f"{entry['summary']}.", "", "Options (``lr`` is learning_rate, ``eps`` epsilon, ``betas`` (beta1, beta2)):", ""]
    for option in entry["options"]:
        allowed = f"; {option['range']}" if option["range"] else ""
        lines.append(f"    {option['name']:<28} {option['help']} (default {option['default']}{allowed})")
    if preset:
        lines += ["", "Here by default: " + ", ".join(f"{key} = {value}" for key, value in preset.items()) + "."]
    return type(class_name, (LatherOptimizer,), {"name": name, "preset": preset, "__doc__": "\n".join(lines), "__module__": __name__})


SSeSOAP = _make("SSeSOAP", "ss-esoap")
SSeSOAPPaper = _make("SSeSOAPPaper", "ss-esoap-paper")
SOAP = _make("SOAP", "soap")
Shampoo = _make("Shampoo", "shampoo")
PurifyingShampoo = _make("PurifyingShampoo", "purifying-shampoo")
Muon = _make("Muon", "muon", rows="outputs")  # as torch.nn.Linear stores its weight
Adam = _make("Adam", "adam")
AdamW = _make("AdamW", "adamw")
SGD = _make("SGD", "sgd")

__all__ = ["Adam", "AdamW", "LatherOptimizer", "Muon", "PurifyingShampoo", "SGD", "SOAP", "SSeSOAP", "SSeSOAPPaper",
           "Shampoo"]
