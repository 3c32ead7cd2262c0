"""What calls do: torch operations, methods of ctx, builtins, and helpers of the file, which are run inline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import libcst as cst

from autograd_lint.flow import ops
from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Condition
from autograd_lint.flow.env import ASKING, RETURN, SAVED, Env, slot
from autograd_lint.flow.events import Creation, GradModeRead, Save
from autograd_lint.flow.expressions import MAX_PARTS, all_reads, member, traced, without
from autograd_lint.flow.frames import CTX, Closure, Frame, Marker
from autograd_lint.flow.values import (
    NOTHING,
    GradMode,
    Origin,
    Relation,
    Value,
    bag,
    beginning,
    boolean,
    element,
    merge,
    one_element,
    pour,
    sequence,
)
from autograd_lint.outline import Definition, Scope, check_depth
from autograd_lint.tree import descendants, last_name, shape

if TYPE_CHECKING:
    from autograd_lint.flow.interp import Interpreter

# How deep helpers are followed.
MAX_DEPTH = 8

# Helpers of so many lines are parsed even if they get no tensor: one may ask for grad mode.
SHORT = 12

# Helpers of more lines launch kernels, as a rule. They are not parsed if nothing in their reach speaks of what is looked for.
LONG = 40

NO_KEYWORDS = Value(ref=Marker("{}"), truth=FALSE)

# Decorators that pass tensors on as they are; by their last name, since most projects wrap or re-export them.
TRANSPARENT = frozenset(
    """staticmethod classmethod no_grad enable_grad inference_mode set_grad_enabled once_differentiable custom_fwd custom_bwd
    compile script script_if_tracing ignore unused disable allow_in_graph wraps lru_cache cache override final
    record_function nvtx_range is_traceable amp_custom_fwd amp_custom_bwd autocast_custom_fwd autocast_custom_bwd""".split()
)


# Calls that only say something. Nothing depends on a flag that is handed to them.
INERT = frozenset("critical debug error exception info log print warn warning".split())

# What switches grad mode, by the last name: a context manager, a decorator, or a plain call.
GRAD_MODES = {"no_grad": False, "enable_grad": True, "inference_mode": False, "set_grad_enabled": None, "_set_grad_enabled": None}


@dataclass(slots=True)
class Arguments:
    """`rest`: any of the arguments that an unpacked container of unknown length adds. `more`: unknown keywords may follow."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    rest: Value | None = None
    more: bool = False

    def values(self) -> list[Value]:
        return [*self.positional, *self.keywords.values(), *([self.rest] if self.rest is not None else [])]

    def deps(self) -> frozenset[Origin]:
        out: frozenset[Origin] = frozenset()
        for value in self.values():
            out |= value.deps
        return out

    def get(self, position: int, name: str) -> Value | None:
        return self.keywords.get(name) or (self.positional[position] if position < len(self.positional) else None)


def call(run: Interpreter, node: cst.Call, env: Env, frame: Frame) -> Value:
    func = node.func
    if isinstance(func, cst.Attribute):
        owner = run.eval(func.value, env, frame)
        name = func.attr.value
        if isinstance(owner.ref, str):
            return _function(run, f"{owner.ref}.{name}", node, evaluated(run, node, env, frame), env, frame)
        if isinstance(owner.ref, Definition) and owner.ref.is_class:
            found = member(owner.ref, name)
            given = evaluated(run, node, env, frame)
            if found is None or found.is_class:
                return _opaque(run, node, given, env, frame)
            if "classmethod" in _decorator_names(found.segment.definition):
                given.positional.insert(0, owner)
            return _inlined(run, Value(ref=found), given, node, env, frame)
        given = evaluated(run, node, env, frame)
        if owner.ref == CTX.ref:
            kept = env.vars.get(slot(name))
            if kept is not None and isinstance(kept.ref, (Closure, Definition)):
                return _inlined(run, kept, given, node, env, frame)
            return _ctx_method(run, name, node, given, env, frame)
        if owner.is_container:
            return _container_method(run, owner, name, node, given, env, frame)
        return _tensor_method(run, owner, name, node, given, env, frame)
    target = run.eval(func, env, frame)
    given = evaluated(run, node, env, frame)
    if isinstance(target.ref, str):
        return _function(run, target.ref, node, given, env, frame)
    if isinstance(target.ref, Closure) or (isinstance(target.ref, Definition) and not target.ref.is_class):
        return _inlined(run, target, given, node, env, frame)
    return _opaque(run, node, given, env, frame)


def evaluated(run: Interpreter, node: cst.Call, env: Env, frame: Frame) -> Arguments:
    out = Arguments()
    for arg in node.args:
        value = run.eval(arg.value, env, frame)
        if arg.star == "**":
            out.more = out.more or value.ref != NO_KEYWORDS.ref
        elif arg.star == "*":
            known, more = beginning(value) if value.is_container else ((), bag(run.unknown(arg, frame, value.deps)))
            if out.rest is None:
                out.positional.extend(known)
            else:
                more = pour(*filter(None, [more]), extra=known)
            item = one_element(more) if more is not None else None
            if item is not None:
                out.rest = item if out.rest is None else out.rest | item
        elif arg.keyword is not None:
            out.keywords[arg.keyword.value] = value
        elif out.rest is not None:
            out.rest = out.rest | value
        else:
            out.positional.append(value)
    return out


def _opaque(run: Interpreter, node: cst.CSTNode, given: Arguments, env: Env, frame: Frame) -> Value:
    """A call that cannot be seen through. If it is given ctx, it may read and set anything on it."""
    inert = isinstance(node, cst.Call) and last_name(node.func) in INERT
    run.effects += not inert
    for keyword, value in (*((None, v) for v in given.positional), *given.keywords.items(), (None, given.rest or NOTHING)):
        if keyword != "requires_grad" and not inert:
            run.use_flags(all_reads(value), frame)
        if isinstance(value.ref, GradMode):
            env.grad = True  # it may be entered
        if env.grad:
            run.differentiated.update(a.origin for a in value.same)
    if any(v.ref == CTX.ref for v in given.values()):
        for name, value in env.ctx().items():
            run.use_flags(all_reads(value), frame)
            if name == SAVED:
                env.vars[name] = run.unknown(node, frame)
            elif value.unbound is not FALSE:
                env.vars[name] = replace(value, unbound=UNKNOWN)
    return run.unknown(node, frame, given.deps())


# -- torch --------------------------------------------------------------------------------------------------------------------


def _literals(node: cst.Call, given: Arguments) -> ops.Arguments:
    def one(value: Value) -> object:
        if isinstance(value.ref, str):
            return ops.Dotted(value.ref)
        if value.none is TRUE:
            return None
        return ops.UNKNOWN_ARGUMENT if value.const is None else value.const

    positional = [one(v) for v in given.positional]
    if given.rest is not None or given.more:
        positional.append(ops.UNKNOWN_ARGUMENT)
    return ops.Arguments(tuple(positional), {k: one(v) for k, v in given.keywords.items()})


def _tensor_method(run: Interpreter, owner: Value, name: str, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value:
    run.note_tensor(owner, name)
    if name == "requires_grad_":
        flag = given.get(0, "requires_grad")
        run.write_flag(node, owner, flag if flag is not None else Value(const=True, truth=TRUE), env, frame)
        return replace(owner, same=frozenset(replace(a, own=True) for a in owner.same))
    if name == "to" and node.args and all(_own_property(node, a) for a in node.args):
        return owner  # x.to(x.dtype)
    if name == "type_as" and given.positional[:1] == [owner]:
        return owner
    op = ops.method(name, _literals(node, given))
    if op is None:
        value = _opaque(run, node, given, env, frame)
        return replace(value, reads=owner.reads) if owner.reads else value
    run.effects += ops.in_place(name)
    if name in ("size", "dim", "numel", "stride", "nelement", "ndimension"):
        return run.integer(node, frame, owner.deps)
    operands = [owner, *_tensors(given)] if op.relation is Relation.COPY and op.kind is not ops.Kind.PLAIN else [owner]
    return _made(run, run.derive(operands, op, node, env, frame), op, node, given, env, frame)


def _own_property(node: cst.Call, arg: cst.Arg) -> bool:
    """`x.dtype` or `x.device` as an argument of a method of `x`."""
    func, value = node.func, arg.value
    if not isinstance(func, cst.Attribute) or not isinstance(value, cst.Attribute) or value.attr.value not in ("dtype", "device"):
        return False
    return shape(func.value) == shape(value.value)


def _tensors(given: Arguments) -> Iterable[Value]:
    """The operands among the arguments, also those in a list."""
    for value in given.values():
        if value is given.keywords.get("requires_grad"):
            continue
        yield value
        item = element(value)
        if item is not None:
            yield item


def _made(run: Interpreter, value: Value, op: ops.Op, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value:
    """Note a tensor that is created with `requires_grad=…`."""
    flag = given.keywords.get("requires_grad")
    if op.kind is not ops.Kind.FRESH or flag is None:
        return value
    value = replace(value, same=frozenset(replace(a, own=True) for a in value.same))
    run.events.append(Creation(node, run.place(frame, env), flag, value))
    return value


_GRAD_MODE = frozenset({"torch.is_grad_enabled", "torch._C.is_grad_enabled", "torch.autograd.grad_mode.is_grad_enabled"})


def _function(run: Interpreter, dotted: str, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value:
    if dotted.startswith("builtins."):
        builtin = _BUILTINS.get(dotted.partition(".")[2])
        value = builtin(run, node, given, env, frame) if builtin is not None else None
        return value if value is not None else _opaque(run, node, given, env, frame)
    if dotted in _GRAD_MODE:
        if frame.calls and _applies(frame.node):  # a wrapper of apply asks for its other callers
            return run.plain(node, frame)
        run.events.append(GradModeRead(node, run.place(frame, env)))
        off = frame.method != "backward" and not env.grad
        return boolean(FALSE if off else run.opaque(node, []), reads=frozenset({node}))
    if dotted.rpartition(".")[2] in GRAD_MODES:
        mode = _mode(dotted, given)
        if "set_grad" in dotted:  # which acts at once, too
            env.grad = mode.on is not False
        return Value(ref=mode, truth=TRUE)
    if dotted in ("typing.cast", "torch.jit.annotate") and len(given.positional) == 2:
        return given.positional[1]
    op = ops.function(dotted, _literals(node, given))
    if op is None:
        return _opaque(run, node, given, env, frame)
    if op.kind is ops.Kind.EACH:
        each = ops.Op(op.relation, ops.Kind.TENSOR, op.when, op.otherwise)
        operands = given.positional
        if len(operands) == 1 and operands[0].is_container:
            operands = list(operands[0].parts or filter(None, [element(operands[0])]))
        made = [run.derive([v], each, node, env, frame) for v in operands]
        return sequence(made) if given.rest is None and len(made) > 1 else bag(*made)
    if op.relation is Relation.COPY or dotted == "torch.einsum":
        operands = list(_tensors(given))
    else:
        first = next((v for k in ("input", "self", "tensor", "data") if (v := given.keywords.get(k)) is not None), None)
        operands = given.positional[:1] or ([first] if first is not None else [])
    return _made(run, run.derive(operands, op, node, env, frame), op, node, given, env, frame)


def _mode(dotted: str, given: Arguments) -> GradMode:
    """What a context manager does to grad mode. `inference_mode(False)` switches it on."""
    name = dotted.rpartition(".")[2]
    asked = given.get(0, "mode")
    if asked is None or name in ("no_grad", "enable_grad"):
        return GradMode(GRAD_MODES[name])
    on = asked.const if isinstance(asked.const, bool) else None
    return GradMode(on if GRAD_MODES[name] is None or on is None else not on)


def grad_mode(value: Value) -> bool | None:
    """What entering this does to grad mode: on, off, or nothing. One that may switch it on counts as on."""
    if isinstance(value.ref, GradMode):
        return value.ref.on is not False
    if isinstance(value.ref, str) and (name := value.ref.rpartition(".")[2]) in GRAD_MODES:
        return GRAD_MODES[name] is not False
    return True if isinstance(value.ref, str) and "grad" in value.ref.rpartition(".")[2] else None


def _applies(node: cst.CSTNode) -> bool:
    """Does it call `apply` of something?"""
    return any(
        isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute) and one.func.attr.value == "apply"
        for one in descendants(node)
    )


# -- ctx ----------------------------------------------------------------------------------------------------------------------


def _ctx_method(run: Interpreter, name: str, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value:
    run.effects += 1
    if name == "save_for_backward":
        exact = given.rest is None
        values = tuple(traced(v, "save", node) for v in given.positional)
        run.events.append(Save(node, run.place(frame, env), tuple(given.positional) if exact else None))
        rest = (traced(given.rest, "save", node),) if given.rest is not None else ()
        env.vars[SAVED] = sequence(values) if exact else bag(*rest, head=values)
        return NOTHING
    for value in given.values():
        run.use_flags(all_reads(value), frame)
    return run.unknown(node, frame, given.deps())


# -- containers ---------------------------------------------------------------------------------------------------------------


def _container_method(
    run: Interpreter, owner: Value, name: str, node: cst.Call, given: Arguments, env: Env, frame: Frame
) -> Value:
    added: list[Value] = []
    if name in ("append", "add") and len(given.positional) == 1:
        added = given.positional[:1]
    elif name == "insert" and len(given.positional) == 2:
        at, parts = given.positional[0].const, owner.parts
        if parts is not None and isinstance(at, int) and not frame.breaks and len(parts) < MAX_PARTS:
            longer = list(parts)
            longer.insert(at, given.positional[1])
            _change(owner, sequence(longer), env, frame)
            return NOTHING
        added = given.positional[1:]
    elif name in ("extend", "update") and len(given.positional) == 1:
        more = given.positional[0]
        _change(owner, pour(owner, more if more.is_container else bag(run.unknown(node, frame, given.deps()))), env, frame)
        return NOTHING
    elif (
        name == "pop"
        and owner.parts
        and not frame.breaks
        and (not given.positional or isinstance(given.positional[0].const, int))
    ):
        place = given.positional[0].const if given.positional else -1
        assert isinstance(place, int)
        _change(owner, without(owner, place), env, frame)
        return owner.parts[place] if -len(owner.parts) <= place < len(owner.parts) else run.unknown(node, frame)
    elif name in ("pop", "popleft", "reverse", "sort", "remove", "clear"):
        _change(owner, replace(pour(owner), mixed=True), env, frame)
        return one_element(owner) or run.unknown(node, frame, owner.deps)
    elif name == "copy":
        return owner
    else:
        return _opaque(run, node, given, env, frame)
    exact = owner.parts is not None and name == "append" and not frame.breaks and len(owner.parts) < MAX_PARTS
    new = sequence((*(owner.parts or ()), *added)) if exact else pour(owner, extra=tuple(added))
    _change(owner, new, env, frame)
    return NOTHING


def _change(old: Value, new: Value, env: Env, frame: Frame) -> None:
    """A list was changed in place, here or in a function around this one."""
    for state in (env, *frame.outer):
        state.changed(old, new)


# -- builtins -----------------------------------------------------------------------------------------------------------------

_Builtin = Callable[["Interpreter", cst.Call, Arguments, Env, Frame], "Value | None"]


def _any_all(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) != 1:
        return None
    parts = given.positional[0].parts
    if parts is not None and all(p.truth is not UNKNOWN for p in parts):
        every = isinstance(node.func, cst.Name) and node.func.value == "all"
        out: Condition = TRUE if every else FALSE
        for part in parts:
            out = out & part.truth if every else out | part.truth
        return boolean(out, given.deps(), all_reads(given.positional[0]))
    return boolean(run.opaque(node, given.positional), given.deps(), all_reads(given.positional[0]))


def _bool(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) != 1:
        return None
    value = given.positional[0]
    return boolean(run.truth(value, node.args[0].value, env, frame), given.deps(), value.reads)


def _len(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    parts = given.positional[0].parts if given.positional else None
    if parts is None:
        return run.integer(node, frame, given.deps())
    return Value(const=len(parts), truth=TRUE if parts else FALSE)


def _list(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if not given.positional:
        return sequence(()) if not given.keywords and given.rest is None else None
    value = given.positional[0]
    if value.is_container:
        return replace(value, ref=None)
    return bag(run.unknown(node, frame, value.deps))


def _reversed(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if not given.positional:
        return None
    parts = given.positional[0].parts
    return sequence(reversed(parts)) if parts is not None else _list(run, node, given, env, frame)


def _zip(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if given.rest is not None or not given.positional:
        return None
    columns = [v.parts for v in given.positional]
    if all(c is not None for c in columns):
        return sequence(sequence(row) for row in zip(*(c for c in columns if c is not None), strict=False))
    items = [run.iterated(v, a, frame) for v, a in zip(given.positional, node.args, strict=False)]
    return bag(sequence(items))


def _enumerate(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if not given.positional:
        return None
    value = given.positional[0]
    if value.parts is not None and len(given.positional) == 1 and not given.keywords:
        return sequence(sequence((Value(const=i, truth=TRUE if i else FALSE), p)) for i, p in enumerate(value.parts))
    return bag(sequence((run.integer(node, frame), run.iterated(value, node, frame))))


def _range(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    reads: frozenset[cst.CSTNode] = frozenset().union(*(v.reads for v in given.values()))
    return replace(bag(run.integer(node, frame, given.deps())), reads=reads)


def _map(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) < 2:
        return None
    function, *columns = given.positional
    rows = _zip(run, node, Arguments(columns), env, frame)
    if rows is None:
        return None

    def one(row: Value) -> Value:
        return _applied(run, function, Arguments(list(row.parts or ())), node, env, frame)

    if rows.parts is not None and len(rows.parts) <= MAX_PARTS:
        return sequence([one(row) for row in rows.parts])
    return bag(one(rows.elem)) if rows.elem is not None else None


def _filter(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) != 2:
        return None
    return pour(given.positional[1]) if given.positional[1].is_container else bag(run.unknown(node, frame, given.deps()))


def _getattr(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) < 2 or not isinstance(given.positional[1].const, str):
        return None
    owner, name = given.positional[0], given.positional[1].const
    if owner.ref == CTX.ref:
        value = env.vars.get(slot(name), run.unknown(node, frame))
        bound, missing = replace(value, unbound=FALSE), value.unbound
        return merge(bound, ~missing, given.positional[2], missing, TRUE) if len(given.positional) > 2 else bound
    if name != "requires_grad":
        return None
    flag = run.read_flag(node, owner, env, frame)
    return replace(flag, truth=flag.truth & ~owner.none)


def _setattr(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) == 3 and isinstance(given.positional[1].const, str) and given.positional[0].ref == CTX.ref:
        env.vars[slot(given.positional[1].const)] = traced(given.positional[2], "store", node)
        return NOTHING
    return None


def _hasattr(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if len(given.positional) == 2 and given.positional[0].ref == CTX.ref and isinstance(given.positional[1].const, str):
        value = env.vars.get(slot(given.positional[1].const))
        if value is not None and value.unbound is not UNKNOWN:
            return boolean(~value.unbound)
    return _test(run, node, given, env, frame)


def _test(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    return boolean(run.opaque(node, given.positional), given.deps()) if given.positional else None


def _isinstance(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if given.positional and given.positional[0].none is TRUE:
        return boolean(FALSE)
    return _test(run, node, given, env, frame)


def _plain(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    reads: frozenset[cst.CSTNode] = frozenset().union(*map(all_reads, given.values()))
    return replace(run.plain(node, frame, given.deps()), reads=reads)


def _dict(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    if given.positional or given.rest is not None or given.more:
        return _plain(run, node, given, env, frame)
    return run.table_of(given.keywords.items(), node, frame)


def _integer(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    return replace(run.integer(node, frame, given.deps()), reads=given.positional[0].reads if given.positional else frozenset())


def _sum(run: Interpreter, node: cst.Call, given: Arguments, env: Env, frame: Frame) -> Value | None:
    value = run.derive(list(_tensors(given)), ops.Op(Relation.COPY), node, env, frame)
    return replace(value, reads=all_reads(given.positional[0])) if given.positional else value


_BUILTINS: dict[str, _Builtin] = {
    "any": _any_all,
    "all": _any_all,
    "bool": _bool,
    "len": _len,
    "list": _list,
    "tuple": _list,
    "sorted": _list,
    "reversed": _reversed,
    "zip": _zip,
    "enumerate": _enumerate,
    "range": _range,
    "map": _map,
    "filter": _filter,
    "getattr": _getattr,
    "setattr": _setattr,
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "float": _plain,
    "int": _integer,
    "dict": _dict,
    "str": _plain,
    "repr": _plain,
    "format": _plain,
    "set": _list,
    "type": _plain,
    "sum": _sum,
}


# -- functions of the file ----------------------------------------------------------------------------------------------------


def _applied(run: Interpreter, function: Value, given: Arguments, node: cst.Call, env: Env, frame: Frame) -> Value:
    """Call a value."""
    if isinstance(function.ref, str):
        return _function(run, function.ref, node, given, env, frame)
    if isinstance(function.ref, Closure) or (isinstance(function.ref, Definition) and not function.ref.is_class):
        return _inlined(run, function, given, node, env, frame)
    return _opaque(run, node, given, env, frame)


def _inlined(run: Interpreter, function: Value, given: Arguments, node: cst.Call, env: Env, frame: Frame) -> Value:
    value = inline(run, function, given, node, env, frame)
    return value if value is not None else _opaque(run, node, given, env, frame)


def inline(run: Interpreter, function: Value, given: Arguments, node: cst.Call | None, env: Env, frame: Frame) -> Value | None:
    """Run a function of the file on these arguments, decorators included; None where that cannot be seen through."""
    inner = _entered(run, function, given, node, env, frame)
    if inner is None:
        return None
    body = inner.node
    assert isinstance(body, (cst.FunctionDef, cst.Lambda))
    state = Env(env.ctx(), env.path, _grad_inside(run, body, env, frame), env.owned)
    if not _bind(run, body.params, given, node, state, inner):
        return None
    if isinstance(body, cst.Lambda):
        value = run.eval(body.body, state, inner)
        out: Env | None = None if state.dead else state
    else:
        out = run.run(body.body, state, inner)
        value = out.vars[RETURN] if out is not None else NOTHING
    if out is None:
        env.path = FALSE
        return NOTHING
    env.vars.update(out.ctx())
    env.path = out.path
    env.own_flag(out.owned - env.owned)
    return value


def _entered(run: Interpreter, function: Value, given: Arguments, node: cst.Call | None, env: Env, frame: Frame) -> Frame | None:
    """The frame to run a function in, None if it cannot be followed."""
    target = function.ref
    outer: tuple[Env, ...] = ()
    if isinstance(target, Definition):
        if target.is_class or (target.segment not in run.segments and not _worth_parsing(run, target, given)):
            return None
        body, scope, segment, suspends = _definition(run, target), target.inner, target.segment, target.suspends
    elif isinstance(target, Closure):
        body, segment = target.node, target.frame.segment
        known = target.frame.scope.names.get(body.name.value) if isinstance(body, cst.FunctionDef) else None
        scope = known.inner if isinstance(known, Definition) else target.frame.scope
        outer = (*target.frame.outer, env if target.frame is frame else target.env)
        suspends = _suspends(run, body)
    else:
        return None
    entry = id(body) in run.entry
    if suspends or len(frame.stack) >= MAX_DEPTH or id(body) in frame.stack:
        return None
    if not entry and not _decorator_names(body) <= TRANSPARENT:
        return None
    return Frame(
        body,
        scope,
        segment,
        frame.method,
        outer=outer,
        calls=frame.calls if node is None or entry else (*frame.calls, node),
        stack=(*frame.stack, id(body)),
        key=run.key(("call", frame.key, id(node))) if node is not None else frame.key,
        idle=frame.idle,
        guarded=[*frame.guarded],
    )


def _grad_inside(run: Interpreter, body: cst.FunctionDef | cst.Lambda, env: Env, frame: Frame) -> bool:
    """Is grad mode on in a function that is called here? Its decorators may say so."""
    grad = env.grad
    for decorator in reversed(body.decorators) if isinstance(body, cst.FunctionDef) else ():
        if last_name(decorator.decorator) in GRAD_MODES:
            mode = grad_mode(run.eval(decorator.decorator, Env({}), frame))
            grad = grad if mode is None else mode
    return grad


def _definition(run: Interpreter, made: Definition) -> cst.FunctionDef | cst.Lambda:
    if made.segment not in run.segments:
        check_depth(made)
        run.segments.append(made.segment)
    definition = made.segment.definition
    assert not isinstance(definition, cst.ClassDef)
    return definition


def _decorator_names(node: cst.CSTNode) -> set[str]:
    """The last names of a function's decorators."""
    if not isinstance(node, cst.FunctionDef):
        return set()
    return {last_name(d.decorator) for d in node.decorators}


def _worth_parsing(run: Interpreter, made: Definition, given: Arguments) -> bool:
    """Can a helper be followed, and has it to do with what is looked for? Short ones are always looked at."""
    if not made.decorators <= TRANSPARENT or made.suspends:
        return False
    lines = made.segment.last - made.segment.first
    if lines < SHORT:
        return True
    if lines > LONG and run.mentions and not made.mentions(run.mentions):
        return False
    return any(map(_matters, given.values()))


def _matters(value: Value) -> bool:
    """Has it to do with an argument, a gradient, a flag, ctx or a function?"""
    if any(a.origin.kind != "fresh" for a in value.same) or any(a.kind in ASKING for a in value.truth.atoms):
        return True
    if value.ref is not None and not isinstance(value.ref, str):
        return True
    item = element(value)
    return item is not None and _matters(item)


def _suspends(run: Interpreter, node: cst.FunctionDef | cst.Lambda) -> bool:
    """Is a nested function a generator or a coroutine, whose body does not run when it is called?"""
    known = run.generators.get(id(node))
    if known is None:
        suspends = isinstance(node, cst.FunctionDef) and node.asynchronous is not None
        inside = descendants(node.body, into=False)
        known = run.generators[id(node)] = suspends or any(isinstance(one, cst.Yield) for one in inside)
    return known


def _bind(run: Interpreter, params: cst.Parameters, given: Arguments, node: cst.CSTNode | None, state: Env, frame: Frame) -> bool:
    """Give each parameter its value; False if the call does not fit."""
    positional = list(given.positional)
    keywords = dict(given.keywords)
    ordinary = [*params.posonly_params, *params.params]
    at = node if node is not None else params
    for i, param in enumerate(ordinary):
        name = param.name.value
        if i < len(positional):
            value = positional[i]
        elif name in keywords:
            value = keywords.pop(name)
        elif given.rest is not None:
            value = given.rest
        else:
            default = _default(run, param, given, at, state, frame)
            if default is None:
                return False
            value = default
        state.vars[name] = value
    extra = positional[len(ordinary) :]
    if isinstance(params.star_arg, cst.Param):
        if given.rest is None:
            value = sequence(extra)
            if id(frame.node) in run.entry and run.inputs is None:
                value = bag(*extra, first=run.star_base) if extra else value  # one value stands for all that `*args` takes
        else:
            value = bag(*extra, given.rest)
        state.vars[params.star_arg.name.value] = value
    elif extra:
        return False
    for param in params.kwonly_params:
        value_or_none = keywords.pop(param.name.value, None) or _default(run, param, given, at, state, frame)
        if value_or_none is None:
            return False
        state.vars[param.name.value] = value_or_none
    if params.star_kwarg is not None:
        reads: frozenset[cst.CSTNode] = frozenset().union(*map(all_reads, keywords.values()))
        rest = replace(run.plain(at, frame), reads=reads) if keywords or given.more else NO_KEYWORDS
        state.vars[params.star_kwarg.name.value] = rest
    elif keywords:
        return False
    return True


def _default(run: Interpreter, param: cst.Param, given: Arguments, at: cst.CSTNode, state: Env, frame: Frame) -> Value | None:
    if param.default is not None:
        default = run.eval(param.default, Env({}), Frame(frame.node, _outside(frame.scope), frame.segment, frame.method))
        return default | run.unknown(param, frame) if given.more else default
    return run.unknown(param, frame) if given.more else None


def _outside(scope: Scope) -> Scope:
    return scope.parent or scope
