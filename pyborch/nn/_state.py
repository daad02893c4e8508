"""state_dict and load_state_dict of modules, with PyTorch's keys, hooks and messages."""
from __future__ import annotations

from collections import OrderedDict, namedtuple

from ..autograd import no_grad
from .._tensor import Tensor
from .parameter import Parameter, is_lazy


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict returns: names the file lacked, names the module lacks."""
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"

    __str__ = __repr__


class StateDict:
    """The part of Module that gives and takes state."""

    _version = 1

    def get_extra_state(self):
        """State beside tensors; a subclass that has some returns it here (it is stored under ``_extra_state``)."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state) -> None:
        """Take back what ``get_extra_state`` gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _has_extra_state(self, method):
        return getattr(type(self), method) is not getattr(StateDict, method)

    def _local_state(self):
        """Names and values of the module's own parameters and persistent buffers."""
        for name, value in self._parameters.items():
            if value is not None:
                yield name, value
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                yield name, value

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._local_state():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(self, destination=None, prefix: str = "", keep_vars: bool = False):
        """Parameters and persistent buffers by dotted name; the tensors share memory with the module's."""
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_hooks("state_dict_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_hooks("state_dict"):
            hook(self, destination, prefix, local_metadata)
        return destination

    def _state_hooks(self, kind):
        return [hook for hook, _, _ in getattr(self._hooks, kind).values()] if self._hooks is not None else ()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        assign = local_metadata.get("assign_to_params_buffers", False)
        for hook in self._state_hooks("load_pre"):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for name, current in self._local_state():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            problem = _load_one(self, name, current, key, state_dict[key], assign)
            if problem:
                error_msgs.append(problem)
        self._load_extra_state(state_dict, prefix + "_extra_state", strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(key for key in state_dict if key.startswith(prefix) and not self._expects(key[len(prefix):]))

    def _load_extra_state(self, state_dict, key, strict, missing_keys, unexpected_keys):
        if self._has_extra_state("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _expects(self, name):
        if name == "_extra_state":
            return True
        first, dot, _ = name.partition(".")
        return first in self._modules if dot else any(name == known for known, _ in self._local_state())

    def load_state_dict(self, state_dict, strict: bool = True, assign: bool = False):
        """Copy values into parameters and buffers by name; returns (missing_keys, unexpected_keys).

        RuntimeError naming every missing, unexpected or wrongly shaped entry; ``strict=False`` forgives the first two kinds.
        ``assign=True`` takes the given tensors themselves.
        """
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, problems = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        self._load_tree(state_dict, "", metadata, assign, missing, unexpected, problems)
        if strict and unexpected:
            names = ", ".join(f'"{k}"' for k in unexpected)
            problems.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
        if strict and missing:
            names = ", ".join(f'"{k}"' for k in missing)
            problems.insert(0, f"Missing key(s) in state_dict: {names}. ")
        if problems:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(problems)))
        return IncompatibleKeys(missing, unexpected)

    def _load_tree(self, state_dict, prefix, metadata, assign, missing, unexpected, problems):
        local_metadata = dict((metadata or {}).get(prefix[:-1], {}))
        if assign:
            local_metadata["assign_to_params_buffers"] = True
        self._load_from_state_dict(state_dict, prefix, local_metadata, True, missing, unexpected, problems)
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = OrderedDict((k, v) for k, v in state_dict.items() if k.startswith(below))
                child._load_tree(part, below, metadata, assign, missing, unexpected, problems)
        for hook in self._state_hooks("load_post"):
            if hook(self, IncompatibleKeys(missing, unexpected)) is not None:
                raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                                     "values, if incompatible_keys need to be modified, it should be done inplace.")


def _load_one(module, name, current, key, value, assign):
    """Put ``value`` into ``current``; returns what went wrong, or None."""
    if not isinstance(value, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                f"received {type(value)}")
    if is_lazy(current):
        if is_lazy(value):
            return None
        with no_grad():
            current.materialize(value.shape)
    if current.dim() == 0 and value.dim() == 1 and value.shape[0] == 1:
        value = value[0]        # files of PyTorch 0.3 kept 0-d tensors as one element
    if value.shape != current.shape:
        return (f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {current.shape}.")
    try:
        with no_grad():
            if not assign:
                current.copy_(value)
            elif isinstance(current, Parameter):
                given = value if isinstance(value, Parameter) else Parameter(value, requires_grad=current.requires_grad)
                module._parameters[name] = given
            else:
                module._buffers[name] = value
    except Exception as problem:
        return (f'While copying the parameter named "{key}", whose dimensions in the model are {current.shape} and '
                f"whose dimensions in the checkpoint are {value.shape}, an exception occurred : {problem.args}.")
    return None
