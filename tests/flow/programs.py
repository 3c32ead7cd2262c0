"""Small autograd Functions at random: every way of this language to move a tensor from one name to another."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# What a program may be made of. `PLAIN` is what the interpreter follows without losing anything.
PLAIN = frozenset("if swap tuple walrus ifexp boolean return attribute".split())
OPAQUE = frozenset("opaque flag".split())
LOOPS = frozenset("for while comprehension".split())
CONTAINERS = frozenset("list star augmented".split())
CALLS = frozenset("helper lambda nested".split())
REST = frozenset("try with delete".split())
EVERYTHING = PLAIN | OPAQUE | LOOPS | CONTAINERS | CALLS | REST

OPERATIONS = tuple(
    """{}.view(-1)|{}.t()|{}.conj()|{}.contiguous()|{}.flatten(0, 1)|{}.float()|{}.detach()|{}.clone()|-{}|+{}|{}[0]|{}[0:1]
{} * 2|torch.zeros_like({})|torch.flatten({}, 0, 1)|{}.requires_grad_()""".replace("\n", "|").split("|")
)
# Of these no run ends early, whatever they are given.
HARMLESS = ("torch.flatten({}, 0, 1)", "torch.zeros_like({})", "torch.flatten({})")

TENSORS, LISTS = ("a", "b", "c"), ("xs", "ys")


@dataclass
class Writer:
    """Writes one function. `known`: the tensors that may be bound here; `helpers`: what can be called."""

    random: random.Random
    features: frozenset[str]
    method: bool
    known: list[str]
    helpers: tuple[str, ...] = ()
    lists: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    depth: int = 2
    top: int = 2
    looping: int = 0
    operations: tuple[str, ...] = OPERATIONS
    loops: int = 0
    functions: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def under(self, header: str) -> Iterator[None]:
        self.line(header)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    def has(self, feature: str, chance: float = 1.0) -> bool:
        return feature in self.features and self.random.random() < chance

    # -- expressions --------------------------------------------------------------------------------------------------------

    def operation(self) -> str:
        return self.random.choice(self.operations)

    def name(self) -> str:
        if self.operations is not HARMLESS and self.random.random() < 0.03:
            return self.random.choice(TENSORS)
        return self.random.choice(self.known)

    def tensor(self, fuel: int = 2) -> str:
        """An expression for a tensor or None."""
        choices: list[tuple[str, Callable[[], str]]] = [("", self.name), ("", self.name)]
        if fuel:
            more: list[tuple[str, Callable[[], str]]] = [
                ("", lambda: self.operation().format(self.name())),
                ("", lambda: self.operation().format(self.name())),
                ("", lambda: f"{self.name()} + {self.name()}" if self.operations is not HARMLESS else self.name()),
                ("ifexp", lambda: self.conditional(fuel - 1)),
                ("walrus", self.walrus),
                ("helper", self.call),
                ("lambda", lambda: f"(lambda t: {self.operation().format('t')})({self.tensor(fuel - 1)})"),
                ("nested", lambda: f"{self.random.choice(self.functions)}({self.name()})" if self.functions else self.name()),
                (
                    "list",
                    lambda: f"{self.random.choice(self.lists)}[{self.random.choice((0, 0, -1, 1))}]" if self.lists else "None",
                ),
                ("", lambda: "None"),
            ]
            if self.method:
                more.append(("attribute", lambda: f"ctx.{self.random.choice('pq')}" if self.kept else "None"))
            choices += more
        allowed = [make for feature, make in choices if not feature or feature in self.features]
        return self.random.choice(allowed)()

    kept: set[str] = field(default_factory=set)

    def conditional(self, fuel: int) -> str:
        test, before = self.test(1), [*self.known]
        then, after = self.tensor(fuel), self.known
        self.known = before
        other = self.tensor(fuel)
        self.known.extend(name for name in after if name not in self.known)
        return f"({then} if {test} else {other})"

    def walrus(self) -> str:
        name, value = self.random.choice(TENSORS), self.tensor(1)
        self.bound(name)
        return f"({name} := {value})"

    def call(self) -> str:
        if not self.helpers:
            return self.name()
        helper = self.random.choice(self.helpers)
        first = f"t={self.name()}" if self.random.random() < 0.2 else self.name()
        more = self.random.choice(
            ["", f", u={self.name()}", f", k={self.name()}"] + ([] if "=" in first else [f", {self.name()}"])
        )
        return f"{helper}({first}{more})"

    def sequence(self) -> str:
        """An expression for a list of tensors."""
        options = [f"[{self.tensor(1)}, {self.tensor(1)}]", f"[{self.tensor(1)}]"]
        if self.lists:
            xs = self.random.choice(self.lists)
            options += [f"{xs}[1:]", f"{xs} + [{self.name()}]", f"[*{xs}, {self.name()}]", f"list({xs})", f"[{self.name()}] * 2"]
            if "comprehension" in self.features:
                body = self.operation().format("t")
                options += [f"[{body} for t in {xs}]", f"[{body} for t in {xs} if {self.test(0, 't')}]"]
                options += [f"[{body} for _, t in enumerate({xs})]", f"[t for t, u in zip({xs}, [{self.name()}, {self.name()}])]"]
                options += [f"list(map(lambda t: {body}, {xs}))"]
        if "list" in self.features:
            options.append(f"list({self.name()}.chunk(2))")
        return self.random.choice(options)

    def test(self, fuel: int = 2, name: str = "") -> str:
        name = name or self.name()
        options = [f"{name} is None", f"{name} is not None"]
        if self.method:
            options += [f"ctx.needs_input_grad[{i}]" for i in range(3)] * 2
        if "opaque" in self.features:
            options += ["n == 1", "n > 1", "n", f"{name}", f"isinstance({name}, int)", f"{name} == {self.name()}"]
            if self.lists:
                options += [f"{self.random.choice(self.lists)}", f"len({self.random.choice(self.lists)}) > 1"]
        if "flag" in self.features:
            options += [f"{name}.requires_grad", f"getattr({name}, 'requires_grad', False)"]
            if self.method:
                options += ["any(ctx.needs_input_grad)", "any(ctx.needs_input_grad[:2])"]
        if fuel:
            options += [f"not {self.test(fuel - 1)}"] if self.has("boolean") else []
            options += [f"({self.test(fuel - 1)} {self.random.choice(('and', 'or'))} {self.test(fuel - 1)})"]
        return self.random.choice(options)

    # -- statements ---------------------------------------------------------------------------------------------------------

    def bound(self, name: str) -> None:
        if name not in self.known:
            self.known.append(name)

    def block(self, fuel: int, most: int = 3) -> None:
        for _ in range(self.random.randint(1, most)):
            self.statement(fuel)

    def statement(self, fuel: int) -> None:
        kinds = [self.assign] * 4
        table = {
            "swap": self.swap,
            "tuple": self.unpack,
            "star": self.star,
            "list": self.make_list,
            "augmented": self.augmented,
            "attribute": self.store,
            "delete": self.delete,
            "nested": self.nested,
        }
        kinds += [make for feature, make in table.items() if feature in self.features]
        nesting = {
            "if": self.branch,
            "for": self.loop,
            "while": self.while_loop,
            "try": self.attempt,
            "with": self.guarded,
            "return": self.early_return,
        }
        if fuel:
            kinds += [lambda make=make: make(fuel - 1) for feature, make in nesting.items() if feature in self.features]  # type: ignore[misc]
            kinds += [lambda: self.branch(fuel - 1)] * 2
        self.random.choice(kinds)()

    def assign(self) -> None:
        name, value = self.random.choice(TENSORS), self.tensor()
        targets = f"{name} = {self.random.choice(TENSORS)}" if self.random.random() < 0.05 else name
        self.line(f"{targets} = {value}")
        for one in targets.split(" = "):
            self.bound(one)

    def swap(self) -> None:
        one, other = self.name(), self.name()
        self.line(f"{one}, {other} = {other}, {one}")

    def unpack(self) -> None:
        one, other = self.random.choice(TENSORS), self.random.choice(TENSORS)
        value = f"({self.tensor(1)}, {self.tensor(1)})"
        if "list" in self.features and self.lists and self.random.random() < 0.5:
            value = self.random.choice(self.lists)
        self.line(f"{one}, {other} = {value}")
        self.bound(one)
        self.bound(other)

    def star(self) -> None:
        if self.lists:
            name, rest = self.random.choice(TENSORS), self.random.choice(LISTS)
            self.line(self.random.choice((f"{name}, *{rest}", f"*{rest}, {name}")) + f" = {self.random.choice(self.lists)}")
            self.bound(name)
            self.listed(rest)

    def listed(self, name: str) -> None:
        if name not in self.lists:
            self.lists.append(name)

    def make_list(self) -> None:
        if self.lists and self.random.random() < 0.4:
            xs = self.random.choice(self.lists)
            self.line(self.random.choice((f"{xs}.append({self.tensor(1)})", f"{xs}[0] = {self.tensor(1)}")))
        else:
            name, value = self.random.choice(LISTS), self.sequence()
            self.line(f"{name} = {value}")
            self.listed(name)

    def augmented(self) -> None:
        if self.lists and self.random.random() < 0.5:
            if not self.looping:  # a list that grows while a loop goes through it
                self.line(f"{self.random.choice(self.lists)} += [{self.tensor(1)}]")
        else:
            self.line(f"{self.name()} += {self.name()}")

    def store(self) -> None:
        if self.method:
            value = self.tensor(1)
            name = self.random.choice("pq")
            self.kept.add(name)
            self.line(f"ctx.{name} = {value}")

    def delete(self) -> None:
        if self.random.random() < 0.3 and not self.looping:
            self.line(f"del {self.name()}")

    def nested(self) -> None:
        # Not in a loop or a branch: then which of them is called would be hard to say, and nothing is claimed.
        if len(self.functions) < 2 and self.depth == self.top:
            name = f"f{len(self.functions)}"
            with self.under(f"def {name}(t):"):
                if self.random.random() < 0.5:
                    with self.under(f"if {self.test(0, 't')}:"):
                        self.line(f"return {self.operation().format(self.name())}")
                self.line(f"return {self.operation().format('t')}")
            self.functions.append(name)

    def branch(self, fuel: int) -> None:
        before, after = [*self.known], [*self.known]

        def arm(header: str) -> None:
            self.known = [*before]
            with self.under(header):
                self.block(fuel, 2)
            after.extend(name for name in self.known if name not in after)

        arm(f"if {self.test()}:")
        while self.random.random() < 0.25:
            self.known = [*before]
            arm(f"elif {self.test()}:")
        if self.random.random() < 0.4:
            arm("else:")
        self.known = after

    def loop(self, fuel: int) -> None:
        over, target = f"({self.tensor(1)}, {self.tensor(1)})", self.random.choice(TENSORS)
        if self.lists and "list" in self.features:
            over = self.random.choice(self.lists)
        if self.random.random() < 0.3 and "opaque" in self.features:
            over, target = "range(n)", "_"
        if self.random.random() < 0.2:
            over, target = f"enumerate({over})", f"_, {target}"
        with self.under(f"for {target} in {over}:"):
            if "_" not in target:
                self.bound(target)
            self.inside_loop(fuel)
        self.after_loop(fuel)

    def while_loop(self, fuel: int) -> None:
        self.loops += 1
        counter = f"i{self.loops}"
        self.line(f"{counter} = 0")
        with self.under(f"while {counter} < 3 and {self.test()}:"):
            self.line(f"{counter} += 1")
            self.inside_loop(fuel)
        self.after_loop(fuel)

    def inside_loop(self, fuel: int) -> None:
        self.looping += 1
        self.block(fuel, 2)
        if self.random.random() < 0.3:
            with self.under(f"if {self.test()}:"):
                if self.random.random() < 0.5:
                    self.statement(0)
                self.line(self.random.choice(("break", "continue")))
            self.block(fuel, 1)
        self.looping -= 1

    def after_loop(self, fuel: int) -> None:
        if self.random.random() < 0.2:
            with self.under("else:"):
                self.block(fuel, 1)

    def attempt(self, fuel: int) -> None:
        with self.under("try:"):
            self.block(fuel, 2)
            if self.random.random() < 0.7:
                with self.under(f"if {self.test()}:"):
                    self.line("raise ValueError")
            if self.random.random() < 0.5:
                self.statement(fuel)
        handled = self.random.random() < 0.8
        if handled:
            with self.under("except ValueError:"):
                self.block(fuel, 1)
            if self.random.random() < 0.2:
                with self.under("else:"):
                    self.block(fuel, 1)
        if not handled or self.random.random() < 0.2:
            with self.under("finally:"):
                self.block(0, 1)

    def guarded(self, fuel: int) -> None:
        with self.under("with torch.no_grad():"):
            self.block(fuel, 2)

    def early_return(self, fuel: int) -> None:
        with self.under(f"if {self.test()}:"):
            self.line(f"return {self.result()}")

    results: int = 1

    def result(self) -> str:
        if self.results == 1:
            return self.tensor(1)
        return ", ".join(self.random.choice((self.name(), self.tensor(1), "None")) for _ in range(self.results))


def program(seed: int, features: frozenset[str] = EVERYTHING, operations: tuple[str, ...] = OPERATIONS) -> str:
    """The source of a file with an autograd Function `F` of tensors `x` and `y`, perhaps a tensor `z`, and an integer `n`."""
    rng = random.Random(seed)
    lines = ["import torch", ""]
    helpers: tuple[str, ...] = ()
    if "helper" in features:
        for number in range(rng.choice((0, 1, 1, 2))):
            helper = Writer(rng, features - {"attribute", "opaque"}, False, ["t", "u", "k"], helpers, depth=1, top=1)
            helper.block(1, 2)
            lines += [f"def h{number}(t, u=None, *, k=None):", *helper.lines, f"    return {helper.result()}", ""]
            helpers = (*helpers, f"h{number}")
    forward = Writer(rng, features, True, ["x", "y", "z"], helpers, operations=operations)
    for _ in range(rng.randint(1, 3)):
        forward.statement(2)
    saved = [rng.choice((name, forward.name())) for name in "xyz"]
    lines += [
        "class F(torch.autograd.Function):",
        "    @staticmethod",
        "    def forward(ctx, x, y, z=None, n=0):",
        *forward.lines,
    ]
    lines += ["        ctx.n = n", f"        ctx.save_for_backward({', '.join(saved)})", f"        return {forward.result()}", ""]
    backward = Writer(
        rng,
        features,
        True,
        ["g", "x", "y", "z"],
        helpers,
        results=4,
        operations=operations,
        kept=forward.kept,
    )
    for _ in range(rng.randint(1, 3)):
        backward.statement(2)
    lines += [
        "    @staticmethod",
        "    def backward(ctx, g):",
        "        n = ctx.n",
        "        x, y, z = ctx.saved_tensors",
        *backward.lines,
    ]
    lines += [f"        return {backward.result()}", ""]
    return "\n".join(lines)


def shrunk(source: str, fails: Callable[[str], bool]) -> str:
    """A smaller program that fails as well: lines, and blocks of lines, are left out as long as it does."""
    lines, changed = source.split("\n"), True
    while changed:
        changed = False
        for start in range(len(lines) - 1, -1, -1):
            indent = len(lines[start]) - len(lines[start].lstrip()) if start < len(lines) else 0
            end = start + 1
            while end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) > indent:
                end += 1
            body = [text.removeprefix("    ") for text in lines[start + 1 : end]]
            for instead in ([], body) if body else ([],):
                shorter = [*lines[:start], *instead, *lines[end:]]
                if _fails("\n".join(shorter), fails):
                    lines, changed = shorter, True
                    break
    return "\n".join(lines)


def _fails(source: str, fails: Callable[[str], bool]) -> bool:
    try:
        compile(source, "<shrunk>", "exec")
        return fails(source)
    except Exception:  # not a program any more
        return False
