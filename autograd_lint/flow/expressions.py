"""What expressions are: names, operators, attributes, subscripts, comprehensions. Calls stand in `calls.py`.

What happens on the way (a flag is read, a tensor is saved) is recorded as an event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import libcst as cst

from autograd_lint.flow import ops
from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Atom, Condition, atom
from autograd_lint.flow.env import ASKING, RETURN, Env, join_arms, join_envs, narrowed, slot
from autograd_lint.flow.events import Event, FlagRead, FlagWrite, MethodName, NeedsName, NeedsRead, Place, Store, Use
from autograd_lint.flow.frames import CTX, INT, NEEDS, Closure, Frame
from autograd_lint.flow.values import (
    NONE,
    NOTHING,
    UNBOUND,
    Alias,
    Hop,
    HopKind,
    Origin,
    Relation,
    Table,
    Value,
    bag,
    beginning,
    boolean,
    element,
    one_element,
    pour,
    sequence,
)
from autograd_lint.outline import UNSEEN, Definition, Scope, bases
from autograd_lint.tree import children, descendants, is_expression, shape

if TYPE_CHECKING:
    from autograd_lint.settings import Settings
    from autograd_lint.source import Segment


# How many expressions are evaluated before a Function is given up, and how many elements of a container are told apart.
MAX_STEPS = 200_000
MAX_PARTS = 64


_Ev = Callable[[Any, Any, Env, Frame], Value]


class ExhaustedError(Exception):
    """Following a Function takes too long."""


class Expressions:
    """The state of one interpreter, and what expressions are in it.

    `inputs`: how many arguments `apply` takes, None where `*args` leaves it open; `required`: how many have no default;
    `star_base`: the place of the first in `*args`. `entry`: the methods that torch calls, by the identity of their nodes.
    `used`: the reads of flags that something depends on, with the depths of calls at which it does. `asked`: the flags that each
    test asks. `effects`: counts what may have one beyond the names it binds.
    """

    table: ClassVar[dict[type[cst.CSTNode], _Ev]] = {}

    def __init__(self, inputs: int | None, settings: Settings, mentions: frozenset[str] = frozenset()) -> None:
        self.inputs = inputs
        self.settings = settings
        self.mentions = mentions
        self.events: list[Event] = []
        self.tensors: set[int] = set()
        self.used: dict[cst.CSTNode, set[int]] = {}
        self.asked: dict[cst.CSTNode, frozenset[cst.CSTNode]] = {}
        self.differentiated: set[Origin] = set()
        self.texts: dict[Atom, str | cst.CSTNode] = {}
        self.segments: list[Segment] = []
        self.steps = 0
        self.entry: dict[int, MethodName] = {}
        self._sites: dict[tuple[int, int], int] = {}
        self._keys: dict[object, int] = {}
        self.generators: dict[int, bool] = {}
        self.required: int | None = None
        self.effects = 0
        self.star_base: int | None = None

    # -- identities -----------------------------------------------------------------------------------------------------------

    def site(self, node: cst.CSTNode, frame: Frame) -> int:
        """A number for a node on a chain of calls, the same each time it is reached."""
        return self._sites.setdefault((id(node), frame.key), len(self._sites) + 1)

    def key(self, thing: object) -> int:
        return self._keys.setdefault(thing, len(self._keys) + 1)

    def place(self, frame: Frame, env: Env) -> Place:
        return Place(frame.method, env.path, frame.calls, env.grad)

    def unknown(self, node: cst.CSTNode, frame: Frame, deps: frozenset[Origin] = frozenset()) -> Value:
        """A value about which nothing is claimed, but which is itself each time it is looked at."""
        site = self.site(node, frame)
        made = Origin("fresh", site)
        return Value(frozenset({Alias(made, site=site)}), deps, none=atom("missing", site))

    def integer(self, node: cst.CSTNode, frame: Frame, deps: frozenset[Origin] = frozenset()) -> Value:
        """An integer of unknown value."""
        return replace(self.plain(node, frame, deps), ref=INT)

    def plain(self, node: cst.CSTNode, frame: Frame, deps: frozenset[Origin] = frozenset()) -> Value:
        """An unknown value that is not None."""
        site = self.site(node, frame)
        return Value(frozenset({Alias(Origin("fresh", site), site=site)}), deps)

    # -- binding --------------------------------------------------------------------------------------------------------------

    def bind(self, target: cst.CSTNode, value: Value, env: Env, frame: Frame, statement: cst.CSTNode) -> None:
        """`target = value`"""
        if isinstance(target, cst.Name):
            env.vars[target.value] = value
            self._name_need(target, target.value, value, env, frame, statement)
        elif isinstance(target, (cst.Tuple, cst.List)):
            for item, part in zip(target.elements, self.unpack(value, target, frame), strict=True):
                self.bind(item.value, part, env, frame, statement)
        elif isinstance(target, cst.StarredElement):
            self.bind(target.value, value, env, frame, statement)
        elif isinstance(target, cst.Attribute):
            owner = self.eval(target.value, env, frame)
            name = target.attr.value
            if owner.ref == CTX.ref:
                stored = traced(value, "store", statement)
                env.vars[slot(name)] = stored
                self.effects += 1
                self.events.append(Store(statement, self.place(frame, env), name, value))
                self._name_need(target, name, value, env, frame, statement)
            elif name == "requires_grad":
                self.write_flag(statement, owner, value, env, frame)
        elif isinstance(target, cst.Subscript):
            owner = self.eval(target.value, env, frame)
            self.effects += not owner.is_container
            for index in target.slice:
                self._slice(index.slice, env, frame)
            if owner.is_container:
                env.changed(owner, self._with_item(owner, target, value))

    def _with_item(self, owner: Value, target: cst.Subscript, value: Value) -> Value:
        parts, at = owner.parts, integer_index(target)
        if parts is not None and at is not None and -len(parts) <= at < len(parts):
            changed = list(parts)
            changed[at] = value
            return sequence(changed)
        return pour(owner, extra=(value,))

    def _name_need(self, node: cst.CSTNode, name: str, value: Value, env: Env, frame: Frame, statement: cst.CSTNode) -> None:
        truth = value.truth
        if (
            not value.reads
            and len(truth.atoms) == 1
            and truth.atoms[0].kind == "needs"
            and truth == atom("needs", truth.atoms[0].key)
        ):
            self.events.append(NeedsName(node, self.place(frame, env), name, truth.atoms[0].key, statement))

    def unpack(self, value: Value, target: cst.Tuple | cst.List, frame: Frame) -> list[Value]:
        """One value for each element of the target."""
        count = len(target.elements)
        star = next((i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None)
        if value.ref is NEEDS:
            return [self.need(i) if star is None or i < star else self.plain(e, frame) for i, e in enumerate(target.elements)]
        for parts in value.shapes:
            if star is None and len(parts) == count:
                return list(parts)
            if star is not None and len(value.shapes) == 1 and len(parts) >= count - 1:
                tail = len(parts) - (count - 1 - star)
                return [*parts[:star], sequence(parts[star:tail]), *parts[tail:]]
        whole = element(value)
        if whole is None:
            return [self.unknown(e, frame, value.deps) for e in target.elements]
        before = count if star is None else star
        out: list[Value] = []
        for i in range(count):
            if i == star:
                first = value.first + i if value.first is not None else None
                head, more = beginning(value)
                rest = pour(*filter(None, [more]), head=head[i:])
                out.append(replace(rest, first=first))
            else:
                out.append(self.element_at(value, i if i < before else None))
        return out

    def element_at(self, container: Value, position: int | None) -> Value:
        """One element of a container of unknown length; of `*args` it is an argument of its own."""
        head = beginning(container)[0]
        if position is not None and position < len(head):
            return head[position]
        item = one_element(container) or NOTHING
        if position is not None and container.head and container.elem is not None and not container.mixed:
            item = container.elem
        if container.first is None or position is None:
            return item
        index = container.first + position

        def one(a: Alias) -> Alias:
            if a.origin.kind == "input" and a.origin.index < 0:
                return replace(a, origin=Origin("input", index, f"{a.origin.name}[{position}]"))
            return a

        none = atom("none", index) if item.none.atoms == (Atom("none", -1),) else item.none
        return replace(item, same=frozenset(map(one, item.aliases())), none=none)

    def iterated(self, value: Value, node: cst.CSTNode, frame: Frame) -> Value:
        """Any one item of what is iterated over."""
        item = element(value)
        return item if item is not None else self.unknown(node, frame, value.deps)

    def write_flag(self, node: cst.CSTNode, tensor: Value, flag: Value, env: Env, frame: Frame) -> None:
        """`tensor.requires_grad` is set."""
        self.events.append(FlagWrite(node, self.place(frame, env), tensor, flag))
        self.use_flags(flag.reads, frame)
        self.effects += 1
        env.own_flag(tensor.same)

    # -- expressions ----------------------------------------------------------------------------------------------------------

    def eval(self, node: cst.BaseExpression, env: Env, frame: Frame) -> Value:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise ExhaustedError
        ev = self.table.get(type(node))
        if ev is not None:
            return ev(self, node, env, frame)
        return self._any(node, env, frame)

    def _any(self, node: cst.CSTNode, env: Env, frame: Frame) -> Value:
        """Anything else: an unknown value computed from what is inside."""
        deps: frozenset[Origin] = frozenset()
        reads: frozenset[cst.CSTNode] = frozenset()
        for child in children(node):
            inner = (
                self.eval(cast("cst.BaseExpression", child), env, frame) if is_expression(child) else self._any(child, env, frame)
            )
            deps |= inner.deps
            reads |= all_reads(inner)
        value = self.plain(node, frame, deps)
        return replace(value, reads=reads) if reads else value

    def _literal(self, node: cst.BaseExpression, env: Env, frame: Frame) -> Value:
        value = literal(node)
        return Value(const=cast("Any", value), truth=TRUE if value else FALSE)

    def _name(self, node: cst.Name, env: Env, frame: Frame) -> Value:
        name = node.value
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        value = env.vars.get(name)
        if value is not None:
            if value.unbound is not FALSE:
                value = self.use(node, name, value, env, frame)
            return value
        for outer in reversed(frame.outer):
            value = outer.vars.get(name)
            if value is not None:
                return replace(value, unbound=FALSE) if value.unbound is not FALSE else value
        scope = frame.scope
        if scope.of_function and name in scope.names and not isinstance(scope.names[name], (str, Definition)):
            return self.use(node, name, UNBOUND, env, frame)  # a name of this function that nothing has bound so far
        return self.named(scope, name) or self.unknown(node, frame)

    def use(self, node: cst.BaseExpression, name: str, value: Value, env: Env, frame: Frame) -> Value:
        """A name is used that may not be bound. Past this point it is, or an exception was raised."""
        error = "AttributeError" if isinstance(node, cst.Attribute) else "UnboundLocalError"
        if not any(error in caught for caught in frame.guarded):
            self.events.append(Use(node, self.place(frame, env), name, value))
        bound = replace(value, unbound=FALSE)
        env.vars[slot(name) if isinstance(node, cst.Attribute) else name] = bound
        if name != "saved_tensors":  # which is never unbound, only empty
            env.path = narrowed(env.path, ~value.unbound)
        return bound

    def named(self, scope: Scope, name: str) -> Value | None:
        """What a name means outside of any function that is being run."""
        import ast

        found = scope.lookup(name)
        if found is UNSEEN or (isinstance(found, ast.expr) and scope.of_function and name in scope.names):
            return None  # bound more than once, or in the very function that is run
        if isinstance(found, ast.Constant):
            return Value(const=found.value, truth=TRUE if found.value else FALSE, none=TRUE if found.value is None else FALSE)
        if isinstance(found, ast.expr):
            found = scope.resolve(found)
        if found is None:
            return Value(ref=f"builtins.{name}", truth=TRUE) if name in _BUILTINS else None
        return Value(ref=found, truth=UNKNOWN if isinstance(found, str) else TRUE)

    def dotted(self, node: cst.BaseExpression, env: Env, frame: Frame) -> str | None:
        """The full name of something imported."""
        if isinstance(node, cst.Attribute):
            base = self.dotted(node.value, env, frame)
            return f"{base}.{node.attr.value}" if base else None
        if isinstance(node, cst.Name):
            value = env.vars.get(node.value) or self.named(frame.scope, node.value)
            return value.ref if value is not None and isinstance(value.ref, str) else node.value
        return None

    def _tuple(self, node: cst.Tuple | cst.List | cst.Set, env: Env, frame: Frame) -> Value:
        head: list[Value] = []
        rest: list[Value] = []  # containers, from the first star on whose length is not known
        for item in node.elements:
            value = self.eval(item.value, env, frame)
            if not isinstance(item, cst.StarredElement):
                value = sequence((value,))
            elif not value.is_container:
                value = bag(self.unknown(item, frame, value.deps))
            if rest:
                rest.append(value)
            else:
                known, more = beginning(value)
                head.extend(known)
                rest += [more] if more is not None else []
        return pour(*rest, head=tuple(head)) if rest else sequence(head)

    def _dict(self, node: cst.Dict, env: Env, frame: Frame) -> Value:
        items: list[tuple[Hashable, Value]] = []
        for item in node.elements:
            key = self.eval(item.key, env, frame).const if isinstance(item, cst.DictElement) else None
            value = self.eval(item.value, env, frame)
            if key is None:
                return self._any(node, env, frame)
            items.append((key, value))
        return self.table_of(items, node, frame)

    def table_of(self, items: Iterable[tuple[Hashable, Value]], node: cst.CSTNode, frame: Frame) -> Value:
        """A dict display, or a call of `dict`."""
        known = tuple((key, v) for key, v in items if not v.same and not v.is_container)
        return replace(self.plain(node, frame), ref=Table(known))

    def _if_exp(self, node: cst.IfExp, env: Env, frame: Frame) -> Value:
        test, reads = self.test(node.test, env, frame)
        then, other = self._branch(node.body, env.where(test), frame), self._branch(node.orelse, env.where(~test), frame)
        if then is None or other is None or not alike(then.vars[RETURN], other.vars[RETURN]):
            self.use_flags(reads, frame)  # otherwise it only chooses between two of a kind
        return self._adopt(join_arms(node.test, test, then, other), env)

    def _branch(self, node: cst.BaseExpression, env: Env | None, frame: Frame) -> Env | None:
        if env is not None:
            env.vars[RETURN] = self.eval(node, env, frame)
        return None if env is None or env.dead else env

    def _adopt(self, out: Env | None, env: Env) -> Value:
        """Let the state after the parts of an expression be the state, and give back the expression's value."""
        if out is None or out.dead:
            env.path = FALSE
            return NOTHING
        value = out.vars.pop(RETURN)
        env.vars, env.path, env.grad = out.vars, out.path, out.grad
        return value

    def _boolean(self, node: cst.BooleanOperation, env: Env, frame: Frame) -> Value:
        left = self.eval(node.left, env, frame)
        test = self.truth(left, node.left, env, frame)
        go_on = test if isinstance(node.operator, cst.And) else ~test
        out: Env | None = None
        if (stop := env.where(~go_on)) is not None:
            stop.vars[RETURN] = replace(left, truth=FALSE if isinstance(node.operator, cst.And) else TRUE)
            out = stop
        if (on := env.where(go_on)) is not None:
            effects = self.effects
            right = self.eval(node.right, on, frame)
            if self.effects > effects:
                self.use_flags(left.reads, frame)
            on.vars[RETURN] = replace(right, truth=self.truth(right, node.right, on, frame))
            out = join_envs(out, on)
        return self._adopt(out, env)

    def _unary(self, node: cst.UnaryOperation, env: Env, frame: Frame) -> Value:
        value = self.eval(node.expression, env, frame)
        if isinstance(node.operator, cst.Not):
            return boolean(~self.truth(value, node.expression, env, frame), value.deps, value.reads)
        if isinstance(node.operator, cst.Minus) and isinstance(value.const, (int, float)):
            return replace(value, const=-value.const)
        relation = Relation.IS if isinstance(node.operator, cst.Plus) else Relation.COPY
        return self.derive([value], ops.Op(relation), node, env, frame)

    def _binary(self, node: cst.BinaryOperation, env: Env, frame: Frame) -> Value:
        left, right = self.eval(node.left, env, frame), self.eval(node.right, env, frame)
        lengths = [len(v.parts) for v in (left, right) if v.parts is not None]
        if isinstance(node.operator, cst.Add) and len(lengths) == 2 and sum(lengths) <= MAX_PARTS:
            assert left.parts is not None
            assert right.parts is not None
            return sequence((*left.parts, *right.parts))
        if isinstance(node.operator, cst.Multiply):
            for items, times in ((left, right), (right, left)):
                if items.parts is not None and isinstance(times.const, int) and len(items.parts) * times.const <= MAX_PARTS:
                    return sequence(items.parts * times.const)
                if items.parts and len(items.parts) == 1:
                    return bag(items.parts[0])
        if isinstance(node.operator, cst.Add) and (left.is_container or right.is_container):
            return pour(left, right)
        if all(v.ref == INT or isinstance(v.const, int) for v in (left, right)):
            return replace(self.integer(node, frame, left.deps | right.deps), reads=left.reads | right.reads)
        return self.derive([left, right], ops.Op(Relation.COPY), node, env, frame)

    def _comparison(self, node: cst.Comparison, env: Env, frame: Frame) -> Value:
        left = self.eval(node.left, env, frame)
        rights = [self.eval(c.comparator, env, frame) for c in node.comparisons]
        deps = left.deps.union(*(r.deps for r in rights))
        reads = left.reads.union(*(r.reads for r in rights))
        if len(rights) == 1:
            operator, right = node.comparisons[0].operator, rights[0]
            if isinstance(operator, (cst.Is, cst.IsNot)):
                if right.none is TRUE and left.none is not UNKNOWN:
                    if len(left.none.atoms) == 1:
                        self.texts.setdefault(left.none.atoms[0], node.left)
                    return boolean(left.none if isinstance(operator, cst.Is) else ~left.none, deps, reads)
                if isinstance(right.const, bool) and left.truth is not UNKNOWN:
                    same = left.truth if right.const == isinstance(operator, cst.Is) else ~left.truth
                    return boolean(same, deps, reads)
            if isinstance(operator, (cst.Equal, cst.NotEqual)):
                equal = isinstance(operator, cst.Equal)
                if left.const is not None and right.const is not None:
                    return boolean(TRUE if (left.const == right.const) == equal else FALSE, deps)
                if isinstance(right.const, bool) and left.truth is not UNKNOWN:
                    return boolean(left.truth if right.const == equal else ~left.truth, deps, reads)
        tensor = [left, *rights] if any(a.origin.kind != "fresh" for v in (left, *rights) for a in v.same) else []
        value = self.derive(tensor, ops.Op(Relation.COPY), node, env, frame) if tensor else self.plain(node, frame, deps)
        return replace(value, truth=self.opaque(node, [left, *rights]), reads=reads)

    def _named_expr(self, node: cst.NamedExpr, env: Env, frame: Frame) -> Value:
        value = self.eval(node.value, env, frame)
        self.bind(node.target, value, env, frame, node)
        return value

    def _lambda(self, node: cst.Lambda, env: Env, frame: Frame) -> Value:
        return Value(ref=Closure(node, frame, env), truth=TRUE)

    def _await(self, node: cst.Await | cst.Yield, env: Env, frame: Frame) -> Value:
        return replace(self._any(node, env, frame), none=UNKNOWN)

    def _comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.SetComp, env: Env, frame: Frame) -> Value:
        inner = env.copy()
        value = self._for_in(node.for_in, node.elt, inner, frame)
        env.own_flag(inner.owned - env.owned)
        for name in env.vars:  # a walrus inside binds outside
            if name not in _targets(node.for_in) and inner.vars.get(name) is not env.vars[name]:
                env.vars[name] = inner.vars[name]
        env.vars.update({n: v for n, v in inner.vars.items() if n not in env.vars and n in _walrus(node)})
        return value

    def _for_in(self, part: cst.CompFor, elt: cst.BaseExpression, env: Env, frame: Frame) -> Value:
        over = self.eval(part.iter, env, frame)
        items = over.parts if over.parts is not None and len(over.parts) <= MAX_PARTS else None
        values: list[Value] = []
        for item in items if items is not None else (self.iterated(over, part.iter, frame),):
            self.bind(part.target, item, env, frame, part)
            state: Env | None = env.copy()
            for filtering in part.ifs:
                if state is not None:
                    test, reads = self.test(filtering.test, state, frame)
                    self.use_flags(reads, frame)
                    state = state.where(test)
            if state is None:
                continue
            if part.inner_for_in is not None:
                inner = self._for_in(part.inner_for_in, elt, state, frame)
                values.append(self.iterated(inner, elt, frame))
            else:
                values.append(self.eval(elt, state, frame))
            env.vars = state.vars
        if items is None or part.ifs or part.inner_for_in is not None:
            return bag(*values) if values else self.plain(elt, frame)
        return sequence(values)

    def _dict_comp(self, node: cst.DictComp, env: Env, frame: Frame) -> Value:
        inner = env.copy()
        self._for_in(node.for_in, node.key, inner, frame)
        self._for_in(node.for_in, node.value, env.copy(), frame)
        return self.plain(node, frame)

    # -- tests ----------------------------------------------------------------------------------------------------------------

    def test(self, node: cst.BaseExpression, env: Env, frame: Frame) -> tuple[Condition, frozenset[cst.CSTNode]]:
        """When the test of a branch holds, and the flags it asks."""
        value = self.eval(node, env, frame)
        truth = self.truth(value, node, env, frame)
        if not value.reads or _covered(truth):
            return truth, frozenset()
        self.asked[node] = self.asked.get(node, frozenset()) | value.reads
        return truth, value.reads

    def use_flags(self, reads: Iterable[cst.CSTNode], frame: Frame) -> None:
        """Something depends on these flags."""
        if not frame.idle:
            for node in reads:
                self.used.setdefault(node, set()).add(len(frame.calls))

    def truth(self, value: Value, node: cst.BaseExpression, env: Env, frame: Frame) -> Condition:
        if value.truth is not UNKNOWN:
            return value.truth
        if value.none is TRUE:
            return FALSE
        return self.opaque(node, [value])

    def opaque(self, node: cst.BaseExpression, values: list[Value]) -> Condition:
        """A test of which nothing is known but that it comes out the same for the same values."""
        form = None if isinstance(node, (cst.Name, cst.Attribute)) and values[0].same else shape(node)
        return self.named_test((form, *values), node, "flag" if any(map(_of_flags, values)) else "test")

    def named_test(self, thing: object, text: str | cst.CSTNode, kind: Literal["test", "flag"] = "test") -> Condition:
        key = self.key(thing)
        self.texts.setdefault(Atom(kind, key), text)
        return atom(kind, key)

    def need(self, index: int) -> Value:
        """`ctx.needs_input_grad[index]`"""
        return boolean(atom("needs", index))

    def flag(self, tensor: Value, node: cst.BaseExpression) -> Condition:
        """When `tensor.requires_grad` is true."""
        aliases = [a for a in tensor.inputs() if a.origin.index >= 0]
        indices = sorted({a.origin.index for a in aliases})
        made_of_all = len({a.site for a in aliases}) == 1 and all(a.relation is not Relation.IS for a in aliases)
        if not aliases or len(aliases) != len(tensor.same) or (len(indices) > 1 and not made_of_all):
            return self.named_test(("flag", tensor), node, "flag")
        kind: Literal["needs", "lost"] = "lost" if any(a.loses for a in aliases) else "needs"
        out = FALSE
        for index in indices:
            out = out | atom(kind, index)
            if kind == "lost":
                self.texts.setdefault(Atom(kind, index), node)
        return out

    # -- attributes and subscripts --------------------------------------------------------------------------------------------

    def _attribute(self, node: cst.Attribute, env: Env, frame: Frame) -> Value:
        owner = self.eval(node.value, env, frame)
        name = node.attr.value
        if owner.ref is not None:
            if owner.ref == CTX.ref:
                return self._ctx_attribute(node, name, env, frame)
            if isinstance(owner.ref, str):
                return Value(ref=f"{owner.ref}.{name}")
            if isinstance(owner.ref, Definition) and owner.ref.is_class:
                found = member(owner.ref, name)
                return Value(ref=found, truth=TRUE) if found is not None else self.unknown(node, frame)
        if name == "requires_grad":
            return self.read_flag(node, owner, env, frame)
        self.note_tensor(owner, name)
        op = ops.attribute(name)
        if op is None:
            value = self.unknown(node, frame, owner.deps)
            return replace(value, reads=owner.reads) if owner.reads else value
        if op.kind is ops.Kind.PLAIN:
            return self.integer(node, frame, owner.deps) if name == "ndim" else self.plain(node, frame, owner.deps)
        return self.derive([owner], op, node, env, frame)

    def note_tensor(self, owner: Value, name: str) -> None:
        """What is used as only a tensor can be, is one."""
        if name in ops.TENSOR_ATTRIBUTES:
            self.tensors.update(a.origin.index for a in owner.same if a.origin.kind == "input" and a.relation == Relation.IS)

    def read_flag(self, node: cst.BaseExpression, tensor: Value, env: Env, frame: Frame) -> Value:
        """`tensor.requires_grad`"""
        if any(a.origin.kind == "input" for a in tensor.same):
            self.events.append(FlagRead(node, self.place(frame, env), tensor))
        return boolean(self.flag(tensor, node), tensor.deps, frozenset({node}))

    def _ctx_attribute(self, node: cst.Attribute, name: str, env: Env, frame: Frame) -> Value:
        if name == "needs_input_grad":
            if self.inputs is None:
                return Value(ref=NEEDS)
            return replace(sequence(self.need(i) for i in range(self.inputs)), ref=NEEDS)
        if name in ("saved_tensors", "saved_variables"):
            name = "saved_tensors"
        value = env.vars.get(slot(name))
        if value is None:
            return self.unknown(node, frame)
        if value.unbound is not FALSE:
            return self.use(node, name, value, env, frame)
        return value

    def _subscript(self, node: cst.Subscript, env: Env, frame: Frame) -> Value:
        owner = self.eval(node.value, env, frame)
        indices = [self._slice(part.slice, env, frame) for part in node.slice]
        for index in indices:
            self.use_flags(index.reads, frame)  # it selects
        if isinstance(owner.ref, Table) and len(indices) == 1:
            known = [value for key, value in owner.ref.items if key == indices[0].const]
            return known[0] if known else self.unknown(node, frame, owner.deps)
        number = indices[0].const if len(indices) == 1 else None
        at = number if isinstance(number, int) and not isinstance(number, bool) else None
        if owner.ref is NEEDS and at is not None:
            return self._need_at(node, at, env, frame)
        parts = owner.parts
        if parts is not None and at is not None:
            return parts[at] if -len(parts) <= at < len(parts) else self.unknown(node, frame, owner.deps)
        only = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(only, cst.Slice) and owner.is_container:
            return self._sliced(owner, only, env, frame, node)
        if owner.is_container:
            return self.element_at(owner, at if at is not None and at >= 0 else None)
        if owner.ref is NEEDS:
            return self.plain(node, frame)
        if not owner.same or owner.reads:
            return replace(self.unknown(node, frame, owner.deps), reads=owner.reads)
        kinds: list[ops.Index] = [_index_kind(part.slice, index) for part, index in zip(node.slice, indices, strict=True)]
        if len(kinds) > 1 or kinds[0] in ("ellipsis", "none"):  # what only a tensor takes
            self.note_tensor(owner, "ndim")
        return self.derive([owner], ops.subscript(*kinds), node, env, frame, "item")

    def _need_at(self, node: cst.Subscript, at: int, env: Env, frame: Frame) -> Value:
        """`ctx.needs_input_grad[at]`"""
        count = self.inputs
        if at < 0 and count is not None and self.required == count:  # the last of the arguments that are passed
            at = at + count if at >= -count else at
        self.events.append(NeedsRead(node, self.place(frame, env), at))
        return self.need(at) if at >= 0 and (count is None or at < count) else self.plain(node, frame)

    def _slice(self, part: cst.BaseSlice, env: Env, frame: Frame) -> Value:
        if isinstance(part, cst.Index):
            return self.eval(part.value, env, frame)
        assert isinstance(part, cst.Slice)
        for bound in (part.lower, part.upper, part.step):
            if bound is not None:
                self.eval(bound, env, frame)
        return NOTHING

    def _sliced(self, owner: Value, cut: cst.Slice, env: Env, frame: Frame, node: cst.Subscript) -> Value:
        bounds: list[int | None] = []
        for bound in (cut.lower, cut.upper, cut.step):
            value = self.eval(bound, env, frame).const if bound is not None else None
            if bound is not None and not isinstance(value, int):
                break
            bounds.append(cast("int | None", value))
        exact = len(bounds) == 3 and bounds[2] != 0
        if owner.parts is not None and exact:
            return sequence(owner.parts[slice(*bounds)])
        item = element(owner)
        if item is None:
            return self.plain(node, frame, owner.deps)
        if exact and bounds[2] in (None, 1) and (bounds[0] or 0) >= 0:
            start, stop = bounds[0] or 0, bounds[1]
            if stop is not None and 0 <= stop <= len(owner.head):
                return sequence(owner.head[start:stop])
            if stop is None and owner.elem is not None:
                first = owner.first + start if owner.first is not None else None
                return replace(bag(owner.elem, head=owner.head[start:], first=first), mixed=owner.mixed)
        return pour(owner)

    # -- derived tensors ------------------------------------------------------------------------------------------------------

    def derive(
        self, operands: Iterable[Value], op: ops.Op, node: cst.CSTNode, env: Env, frame: Frame, kind: HopKind = "derive"
    ) -> Value:
        """What an operation returns of its operands."""
        operands = list(operands)
        deps: frozenset[Origin] = frozenset().union(*(v.deps for v in operands))
        reads: frozenset[cst.CSTNode] = frozenset().union(*(v.reads for v in operands))
        if op.kind is ops.Kind.PLAIN:
            return replace(self.plain(node, frame, deps), reads=reads)
        if env.grad:
            self.differentiated.update(a.origin for v in operands for a in v.same)
        site = self.site(node, frame)
        if op.kind is ops.Kind.FRESH:
            made = Origin("fresh", site)
            return Value(frozenset({Alias(made, site=site, own=env.grad)}), deps, reads=reads)
        out: dict[Alias, None] = {}
        for operand in operands:
            for a in operand.aliases():
                if op.relation is Relation.IS:
                    out.setdefault(a)
                elif op.relation is Relation.COPY and a.origin.kind == "fresh":
                    continue  # a new tensor, and of nobody's
                else:
                    hop = Hop(node, kind, op.relation, op.when, op.otherwise, a.trail)
                    own = op.relation is not Relation.DETACHED and (a.own or env.grad or self._needs_none(a, env))
                    out.setdefault(Alias(a.origin, max(a.relation, op.relation), site, own, env.path, hop))
        if not out:
            out.setdefault(Alias(Origin("fresh", site), site=site, own=env.grad))
        value = Value(frozenset(out), deps, reads=reads)
        return bag(value) if op.kind is ops.Kind.SEQUENCE else value

    def _needs_none(self, a: Alias, env: Env) -> bool:
        """Is it known here that the argument needs no gradient? Then False is the right flag for what is made of it."""
        if a.origin.kind != "input" or not env.path.atoms:
            return False
        return env.path.implies(~atom("needs", a.origin.index))


def member(made: Definition, name: str) -> Definition | None:
    """A method of a class of the file, its own or inherited."""
    import ast

    for one in (made, *bases(made)):
        found = one.inner.names.get(name)
        if isinstance(found, ast.Call) and found.args:  # backward = staticmethod(_backward)
            found = one.scope.resolve(found.args[0])
        elif isinstance(found, ast.expr):
            found = one.inner.resolve(found)
        if isinstance(found, Definition):
            return found
    return None


def literal(node: cst.BaseExpression) -> int | float | complex | str | bytes | None:
    """The value of a number or string literal, None where it is none."""
    if isinstance(node, cst.Integer):
        return int(node.value, 0)
    if isinstance(node, cst.SimpleString):
        text = node.value
        plain = text[0] in "'\"" and text[:3] not in ("'''", '"""') and "\\" not in text
        return text[1:-1] if plain else node.evaluated_value
    return node.evaluated_value if isinstance(node, cst.Float) else None


def traced(value: Value, kind: HopKind, node: cst.CSTNode) -> Value:
    """The same value, one station further on its way."""
    if not value.same and not value.shapes and value.elem is None:
        return value
    same = frozenset(a.at(kind, node) if a.origin.kind == "input" else a for a in value.same)
    shapes = tuple(tuple(traced(p, kind, node) for p in s) for s in value.shapes)
    head = tuple(traced(p, kind, node) for p in value.head)
    elem = traced(value.elem, kind, node) if value.elem is not None else None
    return replace(value, same=same, shapes=shapes, head=head, elem=elem)


def alike(a: Value, b: Value) -> bool:
    """Is neither a certain value, None, false or empty where the other is not?"""
    mine, others = a.parts or (), b.parts or ()
    said = [(v.const, v.none, v.truth, len(v.parts or ())) for v in (a, b)]
    return said[0] == said[1] and all(map(alike, mine, others))


def _covered(test: Condition) -> bool:
    """Does it ask lost flags to no effect, as `ctx.needs_input_grad[0] or x.requires_grad` does?"""
    lost = [a for a in test.atoms if a.kind == "lost"]
    for a in lost:
        test = test.assume(Atom("needs", a.key), True)
    return bool(lost) and not any(a.kind == "lost" for a in test.atoms)


def all_reads(value: Value) -> frozenset[cst.CSTNode]:
    """The flags that it, or an element of it, comes from."""
    inside = [item for _, item in value.ref.items] if isinstance(value.ref, Table) else [element(value)]
    return value.reads.union(*(all_reads(item) for item in inside if item is not None))


def _of_flags(value: Value) -> bool:
    """Is it a boolean, or a container of booleans, that comes from a flag?"""
    if any(a.kind in ASKING for a in value.truth.atoms):
        return True
    item = element(value)
    return item is not None and _of_flags(item)


def _index_kind(part: cst.BaseSlice, index: Value) -> ops.Index:
    if isinstance(part, cst.Slice):
        return "slice"
    assert isinstance(part, cst.Index)
    node = part.value
    if isinstance(node, cst.Ellipsis):
        return "ellipsis"
    if isinstance(node, cst.List):
        return "list"
    if isinstance(node, cst.Comparison):
        return "list"
    if index.none is TRUE:
        return "none"
    if index.ref == INT:
        return "int"
    if isinstance(index.const, bool):
        return "bool"
    if isinstance(index.const, int):
        return "int"
    return "unknown"


def without(container: Value, position: int | None) -> Value:
    """The container when one element is gone, which one is None if it is not known."""
    parts = container.parts
    if parts is None or position is None or not -len(parts) <= position < len(parts):
        return replace(pour(container), mixed=True)
    left = list(parts)
    del left[position]
    return sequence(left)


def integer_index(node: cst.Subscript) -> int | None:
    """The number between the brackets."""
    part = node.slice[0].slice
    if len(node.slice) == 1 and isinstance(part, cst.Index) and isinstance(part.value, cst.Integer):
        return part.value.evaluated_value
    return None


def _targets(part: cst.CompFor | None) -> set[str]:
    out: set[str] = set()
    while part is not None:
        out |= _names(part.target)
        part = part.inner_for_in
    return out


def _names(node: cst.CSTNode) -> set[str]:
    return {one.value for one in descendants(node) if isinstance(one, cst.Name)}


def _walrus(node: cst.CSTNode) -> set[str]:
    return {one.target.value for one in descendants(node) if isinstance(one, cst.NamedExpr) and isinstance(one.target, cst.Name)}


_BUILTINS = frozenset(
    """any all bool dict enumerate filter float format getattr hasattr int isinstance len list map max min next range repr
    reversed set setattr sorted str sum super tuple type zip""".split()
)

_CONSTANTS = {
    "None": NONE,
    "True": Value(const=True, truth=TRUE),
    "False": Value(const=False, truth=FALSE),
}

EXPRESSIONS: dict[type[cst.CSTNode], _Ev] = {
    cst.Name: Expressions._name,
    cst.Integer: Expressions._literal,
    cst.Float: Expressions._literal,
    cst.SimpleString: Expressions._literal,
    cst.Tuple: Expressions._tuple,
    cst.List: Expressions._tuple,
    cst.Set: Expressions._tuple,
    cst.IfExp: Expressions._if_exp,
    cst.BooleanOperation: Expressions._boolean,
    cst.UnaryOperation: Expressions._unary,
    cst.BinaryOperation: Expressions._binary,
    cst.Comparison: Expressions._comparison,
    cst.NamedExpr: Expressions._named_expr,
    cst.Lambda: Expressions._lambda,
    cst.Await: Expressions._await,
    cst.Yield: Expressions._await,
    cst.ListComp: Expressions._comprehension,
    cst.GeneratorExp: Expressions._comprehension,
    cst.SetComp: Expressions._comprehension,
    cst.Dict: Expressions._dict,
    cst.DictComp: Expressions._dict_comp,
    cst.Attribute: Expressions._attribute,
    cst.Subscript: Expressions._subscript,
}
