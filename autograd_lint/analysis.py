"""From the outline of a file to its Functions: forward, setup_context and backward run one after the other on one ctx."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from autograd_lint.flow.calls import TRANSPARENT, Arguments, inline
from autograd_lint.flow.conditions import Atom, atom
from autograd_lint.flow.env import LASTING, Env
from autograd_lint.flow.events import Creation, MethodName
from autograd_lint.flow.expressions import ExhaustedError, member
from autograd_lint.flow.frames import CTX, Closure, Frame
from autograd_lint.flow.interp import Interpreter
from autograd_lint.flow.values import NOTHING, Alias, Hop, Relation, Value, bag, sequence, source
from autograd_lint.model import Function, Method, Param
from autograd_lint.outline import Definition, check_depth
from autograd_lint.settings import Settings
from autograd_lint.source import SourceError
from autograd_lint.tree import last_name

Input = tuple[Param, Value]


def analyse(made: Definition, settings: Settings, mentions: frozenset[str] = frozenset()) -> Function:
    """Follow one autograd Function.

    `mentions`: words, one of which a long helper must be able to reach to be worth following; none: all are.

    Raises SourceError where one of its methods cannot be parsed, or it takes too long.
    """
    analysis = _Analysis(made, settings, mentions)
    try:
        return analysis.run()
    except ExhaustedError as error:  # of what was only half followed, nothing is said
        raise SourceError(f"`{made.name}` takes too long to be followed", made.segment.first) from error


class _Analysis:
    def __init__(self, made: Definition, settings: Settings, mentions: frozenset[str]) -> None:
        self.made = made
        self.function = Function(made.name, made.symbol, made.node.lineno)
        self.interpreter = Interpreter(None, settings, mentions)
        self.settings = settings
        self.env = Env({})

    def run(self) -> Function:
        function, run = self.function, self.interpreter
        function.events, function.tensors, function.segments = run.events, run.tensors, run.segments
        function.used, function.asked, function.texts = run.used, run.asked, run.texts
        function.differentiated = run.differentiated
        forward, setup = self._method("forward"), self._method("setup_context")
        backward = self._method("backward") or self._method("backward", "vjp")
        if forward is not None:
            inputs = self._inputs(forward, has_ctx=setup is None)
            function.params = [param for param, _ in inputs]
            if not function.open_ended:
                run.inputs = len(inputs)
                run.required = sum(not param.optional for param, _ in inputs)
            elif inputs:
                run.star_base = inputs[-1][0].index
            self._forward(forward, setup, inputs)
        if backward is not None:
            self._backward(backward)
        return function

    def _method(self, role: MethodName, name: str | None = None) -> Method | None:
        found = member(self.made, name or role)
        if found is None or found.is_class:
            return None
        if found.segment not in self.interpreter.segments:
            check_depth(found)
            self.interpreter.segments.append(found.segment)
        node = found.segment.definition
        if not isinstance(node, cst.FunctionDef):
            return None
        method = Method(role, node, found, "")
        names = [p.name.value for p in _ordinary(node)][_is_classmethod(node) :]
        method.ctx = names[0] if names else ""
        self.function.methods[role] = method
        self.interpreter.entry[id(node)] = role
        return method

    # -- arguments ----------------------------------------------------------------------------------------------------------

    def _inputs(self, forward: Method, *, has_ctx: bool) -> list[Input]:
        params = _ordinary(forward.node)[_is_classmethod(forward.node) + has_ctx :]
        out: list[Input] = []
        for index, node in enumerate(params):
            name = node.name.value
            value = source("input", index, name, trail=Hop(node, "parameter"), none=atom("none", index))
            out.append((Param(name, index, node, node.default is not None, False), value))
            self.interpreter.texts[Atom("none", index)] = name
            if node.annotation is not None and _is_tensor(node.annotation.annotation):
                self.interpreter.tensors.add(index)
        star = forward.node.params.star_arg
        if isinstance(star, cst.Param):
            name = star.name.value
            value = source("input", -1, name, trail=Hop(star, "parameter"), none=atom("none", -1))
            out.append((Param(name, len(params), star, True, True), value))
        return out

    # -- running ------------------------------------------------------------------------------------------------------------

    def _forward(self, forward: Method, setup: Method | None, inputs: list[Input]) -> None:
        run = self.interpreter
        values = [value for _, value in inputs]
        given = [*_owner(forward, self.made), *([CTX] if setup is None else []), *values]
        result = self._call(forward, given)
        returned = list(_tensors(result))
        for made in self.function.of(Creation, "forward"):  # the flag of an output is meant to say something
            if {a.origin for a in made.value.same} & {a.origin for a in returned}:
                for read in made.flag.reads:
                    run.used.setdefault(read, set()).add(len(made.place.calls))
        # What is returned becomes an output, which knows that it requires grad, also where it was saved.
        self.env.own_flag(frozenset(a for a in returned if a.relation is not Relation.IS or a.origin.kind == "fresh"))
        if setup is not None:
            arguments = sequence(values)
            if self.function.open_ended:
                arguments = bag(values[-1], first=run.star_base) if len(values) == 1 else Value()
            self._call(setup, [*_owner(setup, self.made), CTX, arguments, result])

    def _backward(self, backward: Method) -> None:
        skip = _is_classmethod(backward.node) + 1
        grads = [source("grad", i, p.name.value) for i, p in enumerate(_ordinary(backward.node)[skip:])]
        star = backward.node.params.star_arg
        if isinstance(star, cst.Param):
            grads.append(source("grad", -1, star.name.value))
        if self.env.dead:
            self.env = Env({})
        self.env.path = self.env.path.forget(LASTING)
        self.env.grad = False
        self._call(backward, [*_owner(backward, self.made), CTX, *grads])

    def _call(self, method: Method, given: list[Value]) -> Value:
        """Run a method through its decorators; without them if they cannot be seen through."""
        run = self.interpreter
        frame = Frame(method.node, method.definition.scope, method.definition.segment, method.name)
        decorated, given = self._decorated(method, frame, given)
        before, events = self.env.copy(), len(run.events)
        value = inline(run, decorated, Arguments(list(given)), None, self.env, frame)
        if decorated.ref is not method.definition and not any(e.place.method == method.name for e in run.events[events:]):
            self.env = before
            del run.events[events:]
            value = inline(run, Value(ref=method.definition), Arguments(list(given)), None, self.env, frame)
        return NOTHING if value is None else value

    def _decorated(self, method: Method, frame: Frame, given: list[Value]) -> tuple[Value, list[Value]]:
        """The method as its decorators leave it, and the arguments as a decorator known by name passes them on."""
        run = self.interpreter
        out = Value(ref=method.definition)
        for decorator in reversed(method.node.decorators):
            node, name = decorator.decorator, last_name(decorator.decorator)
            arguments = node.args if isinstance(node, cst.Call) else ()
            if name in ("custom_fwd", "amp_custom_fwd") and any(
                a.keyword and a.keyword.value == "cast_inputs" for a in arguments
            ):
                given = [_copied(v, decorator, run.site(decorator, frame), "under autocast") for v in given]
            if name in TRANSPARENT:
                continue
            maker = run.eval(node, Env({}), frame)
            if isinstance(maker.ref, Closure) or (isinstance(maker.ref, Definition) and not maker.ref.is_class):
                made = inline(run, maker, Arguments([out]), None, Env({}), frame)
                if made is not None and isinstance(made.ref, (Closure, Definition)):
                    out = made
                    continue
            if name in self.settings.copying_decorators and not arguments:
                given = [_copied(v, decorator, run.site(decorator, frame), "unless it is already contiguous") for v in given]
        return out, given


def _copied(value: Value, node: cst.Decorator, site: int, why: str) -> Value:
    """An argument as a decorator passes it on that may have copied it."""

    def copied(a: Alias) -> Alias:
        if a.origin.kind != "input":
            return a
        hop = Hop(node, "decorator", Relation.MAY_COPY, why, before=a.trail)
        return Alias(a.origin, max(a.relation, Relation.MAY_COPY), site, a.own, a.when, hop)

    return replace(value, same=frozenset(map(copied, value.same)))


def _tensors(value: Value) -> Iterator[Alias]:
    yield from value.same
    for part in (*(p for shape in value.shapes for p in shape), *((value.elem,) if value.elem is not None else ())):
        yield from _tensors(part)


def _ordinary(node: cst.FunctionDef) -> list[cst.Param]:
    return [*node.params.posonly_params, *node.params.params]


def _is_classmethod(node: cst.FunctionDef) -> bool:
    return any(last_name(d.decorator) == "classmethod" for d in node.decorators)


def _owner(method: Method, made: Definition) -> list[Value]:
    return [Value(ref=made)] if _is_classmethod(method.node) else []


def _is_tensor(annotation: cst.BaseExpression) -> bool:
    """`Tensor`, `torch.FloatTensor`, `Optional[Tensor]`, `Tensor | None`; no list of them."""
    if isinstance(annotation, cst.Attribute):
        return annotation.attr.value.endswith("Tensor")
    if isinstance(annotation, cst.Name):
        return annotation.value.endswith("Tensor")
    if isinstance(annotation, cst.SimpleString):
        return str(annotation.evaluated_value).endswith("Tensor")
    if isinstance(annotation, cst.BinaryOperation):
        return _is_tensor(annotation.left) or _is_tensor(annotation.right)
    if isinstance(annotation, cst.Subscript) and last_name(annotation.value) == "Optional" and len(annotation.slice) == 1:
        part = annotation.slice[0].slice
        return isinstance(part, cst.Index) and _is_tensor(part.value)
    return False
