"""Joining values: nothing that may be is lost, and the order does not matter."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst
from hypothesis import given
from hypothesis import strategies as st

from autograd_lint.flow.conditions import FALSE, TRUE, UNKNOWN, Condition, atom
from autograd_lint.flow.values import (
    MAX_ALIASES,
    NONE,
    NOTHING,
    Alias,
    Hop,
    Origin,
    Relation,
    Value,
    bag,
    element,
    join,
    merge,
    sequence,
)

ORIGINS = st.builds(Origin, st.sampled_from(["input", "grad", "fresh"]), st.integers(0, 2))
ALIASES = st.builds(Alias, ORIGINS, st.sampled_from(Relation), st.integers(0, 2), st.booleans())
CONDITIONS = st.sampled_from([TRUE, FALSE, UNKNOWN, atom("needs", 0), ~atom("none", 1), atom("needs", 0) | atom("test", 4)])


def _leaf(same: frozenset[Alias], none: Condition, truth: Condition) -> Value:
    return Value(same, frozenset(a.origin for a in same), none=none, truth=truth)


LEAVES = st.one_of(st.just(NONE), st.just(NOTHING), st.builds(_leaf, st.frozensets(ALIASES, max_size=3), CONDITIONS, CONDITIONS))
VALUES = st.recursive(
    LEAVES, lambda some: st.one_of(st.builds(sequence, st.lists(some, max_size=3)), st.builds(bag, some)), max_leaves=5
)


def aliases(value: Value) -> set[Alias]:
    """All it may be or hold."""
    out = {*value.same}
    for shape in value.shapes:
        for part in shape:
            out |= aliases(part)
    return out | (aliases(value.elem) if value.elem is not None else set())


@given(VALUES)
def test_joining_a_value_with_itself_changes_nothing(a: Value) -> None:
    assert a | a == a
    assert merge(a, atom("needs", 0), a, ~atom("needs", 0), TRUE) == a


@given(VALUES, VALUES, CONDITIONS)
def test_the_order_does_not_matter(a: Value, b: Value, test: Condition) -> None:
    assert a | b == b | a
    assert merge(a, test, b, ~test, TRUE) == merge(b, ~test, a, test, TRUE)


@given(LEAVES, LEAVES, CONDITIONS)
def test_no_tensor_is_lost(a: Value, b: Value, test: Condition) -> None:
    both = merge(a, test, b, ~test, TRUE)
    assert both.same == a.same | b.same
    assert both.deps == a.deps | b.deps


@given(VALUES, VALUES)
def test_nothing_new_comes_in(a: Value, b: Value) -> None:
    assert aliases(a | b) <= aliases(a) | aliases(b)


@given(st.lists(LEAVES, min_size=1, max_size=3), st.lists(LEAVES, min_size=1, max_size=3))
def test_elements_of_sequences_are_kept(a: list[Value], b: list[Value]) -> None:
    both = sequence(a) | sequence(b)
    assert aliases(both) <= aliases(sequence([*a, *b]))  # less, where two arguments differ in what is known of them
    assert {len(s) for s in both.shapes} == {len(a), len(b)}


@given(LEAVES, LEAVES)
def test_a_condition_follows_the_arm(a: Value, b: Value) -> None:
    test = atom("test", 1)
    both = merge(a, test, b, ~test, TRUE)
    if a.none.known and b.none.known:
        assert both.none.given(test) == a.none.given(test)
        assert both.none.given(~test) == b.none.given(~test)
    else:
        assert both.none == a.none or not both.none.known


def test_none_says_nothing_of_elements() -> None:
    pair = sequence([NOTHING, NONE])
    for joined in (pair | NONE, NONE | pair):
        assert joined.shapes == pair.shapes


def test_two_lengths_are_both_kept() -> None:
    one, two = sequence([NONE]), sequence([NONE, NONE])
    assert (one | two).parts is None
    assert [len(s) for s in (one | two).shapes] == [1, 2]


def test_a_bag_and_a_sequence_are_a_bag() -> None:
    x = Value(frozenset({Alias(Origin("input", 0))}))
    assert element(bag(x) | sequence([x, x])) == x
    assert (bag(x) | sequence([x, x])).parts is None


def test_trails_do_not_tell_aliases_apart() -> None:
    plain = Alias(Origin("input", 0, "x"))
    assert replace(plain, trail=Hop(cst.Name("x"), "store")) == plain
    assert len({plain, replace(plain, trail=Hop(cst.Name("y"), "save"))}) == 1


def test_a_trail_is_read_from_its_start() -> None:
    nodes = [cst.Name(name) for name in "abc"]
    trail = None
    for node in nodes:
        trail = Hop(node, "derive", before=trail)
    assert trail is not None
    assert [hop.node for hop in trail] == nodes


def test_inputs_are_sorted_and_filtered() -> None:
    x, y = Alias(Origin("input", 1), Relation.COPY), Alias(Origin("input", 0))
    value = Value(frozenset({x, y, Alias(Origin("grad", 0))}))
    assert value.inputs() == [y, x]


def test_past_the_limit_a_value_stops_growing() -> None:
    crowd = join(Value(frozenset({Alias(Origin("input", i))})) for i in range(MAX_ALIASES + 10))
    assert len(crowd.same) == MAX_ALIASES
