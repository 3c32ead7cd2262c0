"""Follow the tensors: run the body of a method on abstract values.

One walk over libcst's statements. The state is an `Env`; `None` in its place means "cannot be reached", so that return, raise and
break need no flags. Branches run both arms and join; loops run until nothing changes.

Unknown is a value like any other: nothing is claimed about it, and joining it with a known one keeps the claim for the known arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import libcst as cst

from autograd_lint.flow.calls import call, grad_mode
from autograd_lint.flow.conditions import TRUE, UNKNOWN, Condition
from autograd_lint.flow.env import LASTING, RETURN, Env, join_arms, join_envs, narrowed
from autograd_lint.flow.events import Return
from autograd_lint.flow.expressions import EXPRESSIONS, MAX_PARTS, Expressions, alike, all_reads, integer_index, without
from autograd_lint.flow.frames import Closure, Frame
from autograd_lint.flow.values import NONE, Value, pour, sequence
from autograd_lint.outline import Definition
from autograd_lint.tree import children, descendants, last_name

MAX_ROUNDS = 8


class Interpreter(Expressions):
    """Runs the methods of one autograd Function."""

    table: ClassVar = {**EXPRESSIONS, cst.Call: call}

    def run(self, body: cst.BaseSuite, env: Env, frame: Frame) -> Env | None:
        """Run a function's body; the states it is left in are joined, with the result under `RETURN`."""
        end = self.block(body.body, env, frame)
        if end is not None:
            end.vars[RETURN] = NONE
            frame.exits.append(end)
        out: Env | None = None
        for leaving in frame.exits:
            out = join_envs(out, leaving)
        return out

    def block(self, body: Iterable[cst.CSTNode], env: Env | None, frame: Frame) -> Env | None:
        for statement in body:
            if env is None or env.dead:
                return None
            do = _STATEMENTS.get(type(statement))
            if do is not None:
                env = do(self, statement, env, frame)
        return None if env is None or env.dead else env

    def _simple(self, node: cst.SimpleStatementLine | cst.SimpleStatementSuite, env: Env, frame: Frame) -> Env | None:
        return self.block(node.body, env, frame)

    def _expr(self, node: cst.Expr, env: Env, frame: Frame) -> Env:
        self.eval(node.value, env, frame)
        return env

    def _assign(self, node: cst.Assign, env: Env, frame: Frame) -> Env:
        value = self.eval(node.value, env, frame)
        for target in node.targets:
            self.bind(target.target, value, env, frame, node)
        return env

    def _ann_assign(self, node: cst.AnnAssign, env: Env, frame: Frame) -> Env:
        if node.value is not None:
            self.bind(node.target, self.eval(node.value, env, frame), env, frame, node)
        return env

    def _aug_assign(self, node: cst.AugAssign, env: Env, frame: Frame) -> Env:
        old, new = self.eval(node.target, env, frame), self.eval(node.value, env, frame)
        if old.is_container:
            exact = old.parts is not None and new.parts is not None and len(old.parts) + len(new.parts) <= MAX_PARTS
            value = sequence((*(old.parts or ()), *(new.parts or ()))) if exact and not frame.breaks else pour(old, new)
            env.changed(old, value)
        elif any(a.origin.kind != "fresh" for a in old.same):
            value = Value(old.same, old.deps | new.deps)  # a tensor is changed in place
        else:
            value = self.plain(node, frame, old.deps | new.deps)
        self.bind(node.target, value, env, frame, node)
        return env

    def _return(self, node: cst.Return, env: Env, frame: Frame) -> None:
        value = self.eval(node.value, env, frame) if node.value is not None else NONE
        if env.dead:
            return
        if not frame.calls:
            self.use_flags(all_reads(value), frame)
        if id(frame.node) in self.entry:
            slots: tuple[cst.BaseExpression, ...] = ()
            if isinstance(node.value, cst.Tuple) and not any(isinstance(e, cst.StarredElement) for e in node.value.elements):
                slots = tuple(e.value for e in node.value.elements)
            self.events.append(Return(node, self.place(frame, env), value, slots))
        env.vars[RETURN] = value
        frame.exits.append(env)

    def _raise(self, node: cst.Raise, env: Env, frame: Frame) -> None:
        if frame.raises:
            frame.raises[-1].append(env)
        if node.exc is not None:
            frame.idle += 1
            self.eval(node.exc, env, frame)
            frame.idle -= 1

    def _break(self, node: cst.Break, env: Env, frame: Frame) -> None:
        if frame.breaks:
            frame.breaks[-1].append(env)

    def _continue(self, node: cst.Continue, env: Env, frame: Frame) -> None:
        if frame.continues:
            frame.continues[-1].append(env)

    def _assert(self, node: cst.Assert, env: Env, frame: Frame) -> Env:
        frame.idle += 1
        test, _ = self.test(node.test, env, frame)
        frame.idle -= 1
        # What is asserted of shapes and types is not needed to tell gradients apart; keep the path short.
        if all(a.kind in LASTING for a in test.atoms):
            return env.where(test) or env
        return env

    def _del(self, node: cst.Del, env: Env, frame: Frame) -> Env:
        targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
        for target in targets:
            if isinstance(target, cst.Name):
                env.vars.pop(target.value, None)
                continue
            if isinstance(target, cst.Subscript):
                owner, at = self.eval(target.value, env, frame), integer_index(target)
                if owner.is_container:
                    env.changed(owner, without(owner, None if frame.breaks else at))
            self.eval(target, env, frame)
        return env

    def _forget_names(self, node: cst.Global | cst.Nonlocal, env: Env, frame: Frame) -> Env:
        for item in node.names:
            env.vars[item.name.value] = self.unknown(item, frame)
        return env

    def _function_def(self, node: cst.FunctionDef, env: Env, frame: Frame) -> Env:
        env.vars[node.name.value] = Value(ref=Closure(node, frame, env), truth=TRUE)
        for name in _nonlocals(node):
            env.vars[name] = self.unknown(node, frame)
        return env

    def _class_def(self, node: cst.ClassDef, env: Env, frame: Frame) -> Env:
        env.vars[node.name.value] = self.unknown(node, frame)
        return env

    def _if(self, node: cst.If, env: Env, frame: Frame) -> Env | None:
        rest: Env | None = env
        arm: cst.If | cst.Else | None = node
        arms: list[_Arm] = []
        start = len(frame.exits)
        while rest is not None and isinstance(arm, cst.If):
            before = rest.path
            test, reads = self.test(arm.test, rest, frame)
            if rest.dead:
                rest = None
                break
            jumps, effects = frame.jumps(), self.effects
            then = rest.where(test)
            then = self.block(arm.body.body, then, frame) if then is not None else None
            arms.append(_Arm(arm, test, reads, rest.vars, then, frame.jumps() > jumps, self.effects > effects))
            rest = rest.where(~test)
            guard = then is None and frame.jumps() == jumps and not all(a.kind in LASTING for a in test.atoms)
            if guard and rest is not None:  # the arm raises, and its test is not needed to tell gradients apart
                rest.path = before
            arm = arm.orelse
        exits = len(frame.exits)
        if isinstance(arm, cst.Else):
            rest = self.block(arm.body.body, rest, frame)
        if len(arms) == 1 and rest is None and _same_results(frame.exits[start:exits], frame.exits[exits:]):
            return arms[0].then
        for one in reversed(arms):  # inside out, as the tests are asked
            if one.reads and not one.only_chooses(rest) and not one.only_raises() and not one.does_nothing():
                self.use_flags(one.reads, frame)
            rest = join_arms(one.node.test, one.test, one.then, rest)
        return rest

    def _loop(self, node: cst.For | cst.While, env: Env, frame: Frame, step: Callable[[Env], Env | None]) -> Env | None:
        """`step` runs the head and the body once; None from it means the body cannot be left at its end."""
        entered = self.named_test(("entered", self.site(node, frame)), "the loop runs")
        marks = len(self.events), len(frame.exits)
        head, breaks = env, list[Env]()
        for _ in range(MAX_ROUNDS):
            del self.events[marks[0] :], frame.exits[marks[1] :]
            frame.breaks.append([])
            frame.continues.append([])
            after = step(head.copy())
            breaks = frame.breaks.pop()
            for early in frame.continues.pop():
                after = join_envs(after, early)
            new = head if after is None else _next_round(head, after, entered, env.path)
            if new.vars == head.vars and new.grad == head.grad:
                break
            head = new
        out: Env | None = None if isinstance(node, cst.While) and _always(node.test) else head
        if node.orelse is not None and out is not None:
            out = self.block(node.orelse.body.body, out.copy(), frame)
        for early in breaks:
            out = join_envs(out, early)
        return out

    def _for(self, node: cst.For, env: Env, frame: Frame) -> Env | None:
        over = self.eval(node.iter, env, frame)
        self.use_flags(over.reads, frame)  # it says how often
        item = self.iterated(over, node.iter, frame)

        def step(state: Env) -> Env | None:
            self.bind(node.target, item, state, frame, node)
            return self.block(node.body.body, state, frame)

        return self._loop(node, env, frame, step)

    def _while(self, node: cst.While, env: Env, frame: Frame) -> Env | None:
        def step(state: Env) -> Env | None:
            _, reads = self.test(node.test, state, frame)
            self.use_flags(reads, frame)
            return self.block(node.body.body, state, frame)

        return self._loop(node, env, frame, step)

    def _with(self, node: cst.With, env: Env, frame: Frame) -> Env | None:
        before, jumps = env.grad, (len(frame.exits), *map(len, (*frame.breaks, *frame.continues)))
        suppressed: set[str] = set()
        for item in node.items:
            value = self.eval(item.item, env, frame)
            mode = grad_mode(value)
            if mode is not None:
                env.grad = mode
            elif self.may_set_grad_mode(item.item, value, env, frame):
                env.grad = True
            if isinstance(item.item, cst.Call) and last_name(item.item) == "suppress":
                suppressed |= _caught(item.item)
            if item.asname is not None:
                self.bind(item.asname.name, value, env, frame, node)
        frame.guarded.append(frozenset(suppressed))
        out = self.block(node.body.body, env, frame)
        frame.guarded.pop()
        for states, start in zip((frame.exits, *frame.breaks, *frame.continues), jumps, strict=True):
            for state in states[start:]:
                state.grad = before
        if out is not None:
            out.grad = before
        return out

    def may_set_grad_mode(self, node: cst.BaseExpression, value: Value, env: Env, frame: Frame) -> bool:
        """May entering this switch grad mode on? It is of the file and speaks of it, or comes out of a table."""
        if not isinstance(node, cst.Call):
            return isinstance(node, (cst.Name, cst.Subscript)) and value.ref is None
        maker = self.eval(node.func, env, frame).ref
        if isinstance(maker, Definition):
            return maker.mentions(("enable_grad", "set_grad_enabled", "inference_mode"))
        return maker is None and isinstance(node.func, (cst.Subscript, cst.Call))

    def _try(self, node: cst.Try | cst.TryStar, env: Env, frame: Frame) -> Env | None:
        failed = self.named_test(("failed", self.site(node, frame)), "an exception is raised")
        before, path = env.copy(), env.path
        frame.guarded.append(frozenset().union(*(_caught(handler.type) for handler in node.handlers)))
        frame.raises.append([])
        done: Env | None = env
        middle: Env | None = before
        for i, statement in enumerate(node.body.body):
            done = self.block((statement,), done, frame)
            whole = i == len(node.body.body) - 1 and isinstance(statement, cst.SimpleStatementLine)
            if not whole:  # when the last statement is done nothing is left that could raise
                middle = join_envs(middle, done.copy() if done is not None else None)
        for raised in frame.raises.pop():
            middle = join_envs(middle, raised)
        frame.guarded.pop()
        assert middle is not None
        middle.path = narrowed(path, failed)
        if done is not None:
            done.path = narrowed(done.path, ~failed)
            if node.orelse is not None:
                done = self.block(node.orelse.body.body, done, frame)
        for handler in node.handlers:
            state = middle.copy()
            if handler.name is not None and isinstance(handler.name.name, cst.Name):
                state.vars[handler.name.name.value] = self.unknown(handler, frame)
            done = join_envs(done, self.block(handler.body.body, state, frame))
        if node.finalbody is not None:
            self.block(node.finalbody.body.body, middle.copy(), frame)  # on the way out of here
            return self.block(node.finalbody.body.body, done, frame)
        return done

    def _match(self, node: cst.Match, env: Env, frame: Frame) -> Env | None:
        subject = self.eval(node.subject, env, frame)
        self.use_flags(all_reads(subject), frame)
        out: Env | None = None
        rest: Env | None = env
        for case in node.cases:
            if rest is None:
                break
            taken = self.named_test(("case", self.site(case, frame)), case.pattern)
            state = rest.where(taken)
            if state is not None:
                for name in _captured(case.pattern):
                    state.vars[name] = self.unknown(case, frame, subject.deps)
                if case.guard is not None:
                    self.eval(case.guard, state, frame)
                out = join_envs(out, self.block(case.body.body, state, frame))
            rest = None if _irrefutable(case) else rest.where(~taken)
        return join_envs(out, rest)


@dataclass(slots=True)
class _Arm:
    """One arm of an if: what was asked, what names held before, how it ended, whether a jump or an effect is in it."""

    node: cst.If
    test: Condition
    reads: frozenset[cst.CSTNode]
    before: dict[str, Value]
    then: Env | None
    jumps: bool
    effects: bool

    def only_chooses(self, other: Env | None) -> bool:
        """Do both arms bind the same names, to values of the same kind? Then the flag picks a way, and both lead to the end."""
        if self.then is None or other is None or self.jumps:
            return False
        mine, others = ({n for n, v in env.vars.items() if self.before.get(n) is not v} for env in (self.then, other))
        return bool(mine) and mine == others and all(alike(self.then.vars[n], other.vars[n]) for n in mine)

    def does_nothing(self) -> bool:
        """Is it alone, and does no more than say something?"""
        if self.then is None or self.jumps or self.effects or self.node.orelse is not None:
            return False
        return all(self.before.get(name) is value for name, value in self.then.vars.items())

    def only_raises(self) -> bool:
        """Does it ask for nothing but grad mode, to refuse it?"""
        body = self.node.body.body
        last = body[-1] if body else None
        refuses = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)
        return refuses and isinstance(self.node.test, cst.Call)


def _same_results(mine: list[Env], others: list[Env]) -> bool:
    """Does each arm return once, and neither None where the other does not?"""
    return len(mine) == len(others) == 1 and alike(mine[0].vars[RETURN], others[0].vars[RETURN])


def _next_round(head: Env, after: Env, entered: Condition, path: Condition) -> Env:
    """The state at the head of a loop after one more round."""
    start, again = head.copy(), after.copy()
    start.path, again.path = start.path & ~entered, again.path & entered
    for name, value in again.vars.items():
        if value is not head.vars.get(name):
            again.vars[name] = _without(value, entered)
    out = join_envs(start, again)
    assert out is not None
    out.path = path
    return out


def _without(value: Value, entered: Condition) -> Value:
    """What was true in the round before need not be in the next."""
    said = [entered.atoms[0] in c.atoms for c in (value.none, value.unbound, value.truth)]
    if not any(said):
        return value
    none, unbound, truth = (UNKNOWN if s else c for s, c in zip(said, (value.none, value.unbound, value.truth), strict=True))
    return replace(value, none=none, unbound=unbound, truth=truth)


# What each of these catches.
_CATCHES = {
    "AttributeError": ("AttributeError",),
    "UnboundLocalError": ("UnboundLocalError",),
    "NameError": ("UnboundLocalError",),
    "Exception": ("AttributeError", "UnboundLocalError"),
    "BaseException": ("AttributeError", "UnboundLocalError"),
}


def _caught(node: cst.CSTNode | None) -> frozenset[str]:
    """The exceptions of unbound names that a handler of this type catches; one without a type catches all."""
    names = ["Exception"] if node is None else [one.value for one in descendants(node) if isinstance(one, cst.Name)]
    return frozenset(error for name in names for error in _CATCHES.get(name, ()))


def _always(test: cst.BaseExpression) -> bool:
    return (isinstance(test, cst.Name) and test.value == "True") or (isinstance(test, cst.Integer) and test.value != "0")


def _irrefutable(case: cst.MatchCase) -> bool:
    return case.guard is None and isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None


def _captured(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
        yield node.name.value
    if isinstance(node, cst.MatchMapping) and node.rest is not None:
        yield node.rest.value
    for child in children(node):
        yield from _captured(child)


def _nonlocals(node: cst.FunctionDef) -> Iterator[str]:
    for line in node.body.body:
        if isinstance(line, cst.SimpleStatementLine):
            for small in line.body:
                if isinstance(small, cst.Nonlocal):
                    yield from (item.name.value for item in small.names)


_Do = Callable[[Interpreter, Any, Env, Frame], "Env | None"]
_STATEMENTS: dict[type[cst.CSTNode], _Do] = {
    cst.SimpleStatementLine: Interpreter._simple,
    cst.Expr: Interpreter._expr,
    cst.Assign: Interpreter._assign,
    cst.AnnAssign: Interpreter._ann_assign,
    cst.AugAssign: Interpreter._aug_assign,
    cst.Return: Interpreter._return,
    cst.Raise: Interpreter._raise,
    cst.Break: Interpreter._break,
    cst.Continue: Interpreter._continue,
    cst.Assert: Interpreter._assert,
    cst.Del: Interpreter._del,
    cst.Global: Interpreter._forget_names,
    cst.Nonlocal: Interpreter._forget_names,
    cst.FunctionDef: Interpreter._function_def,
    cst.ClassDef: Interpreter._class_def,
    cst.If: Interpreter._if,
    cst.For: Interpreter._for,
    cst.While: Interpreter._while,
    cst.With: Interpreter._with,
    cst.Try: Interpreter._try,
    cst.TryStar: Interpreter._try,
    cst.Match: Interpreter._match,
}
