"""Conditions against what they mean: a function from the truth of each atom to a truth."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from autograd_lint.flow.conditions import FALSE, MAX_ATOMS, TRUE, UNKNOWN, Atom, Condition, atom

ATOMS = (Atom("needs", 0), Atom("needs", 1), Atom("none", 0), Atom("flag", 3), Atom("test", 2))
CONDITIONS = st.recursive(
    st.sampled_from([TRUE, FALSE, *(atom(a.kind, a.key) for a in ATOMS)]),
    lambda some: st.one_of(
        st.builds(lambda a: ~a, some),
        st.builds(lambda a, b: a & b, some, some),
        st.builds(lambda a, b: a | b, some, some),
    ),
    max_leaves=12,
)
Situation = dict[Atom, bool]


def situations() -> Iterator[Situation]:
    for values in itertools.product((False, True), repeat=len(ATOMS)):
        yield dict(zip(ATOMS, values, strict=True))


def value(condition: Condition, situation: Situation) -> bool:
    index = sum(situation[a] << k for k, a in enumerate(condition.atoms))
    return bool(condition.table >> index & 1)


def means(condition: Condition, expected: Callable[[Situation], bool]) -> bool:
    return all(value(condition, s) == expected(s) for s in situations())


@given(CONDITIONS, CONDITIONS)
def test_and_or_not_mean_what_they_say(a: Condition, b: Condition) -> None:
    assert means(a & b, lambda s: value(a, s) and value(b, s))
    assert means(a | b, lambda s: value(a, s) or value(b, s))
    assert means(~a, lambda s: not value(a, s))


@given(CONDITIONS, CONDITIONS)
def test_equal_meaning_is_equality(a: Condition, b: Condition) -> None:
    assert (a == b) == means(a, lambda s: value(b, s))
    assert ~~a == a
    assert ~(a & b) == ~a | ~b
    assert (a is TRUE) == (a == TRUE)
    assert (a is FALSE) == (a == FALSE)


@given(CONDITIONS)
def test_only_the_atoms_that_matter_are_kept(a: Condition) -> None:
    assert a.atoms == tuple(sorted(a.atoms, key=lambda one: (one.kind, one.key)))
    for one in a.atoms:
        assert any(value(a, s) != value(a, {**s, one: not s[one]}) for s in situations())


@given(CONDITIONS)
def test_possible_is_that_it_holds_somewhere(a: Condition) -> None:
    assert a.possible == any(value(a, s) for s in situations())


@given(CONDITIONS, CONDITIONS)
def test_implies(a: Condition, b: Condition) -> None:
    assert a.implies(b) == all(value(b, s) for s in situations() if value(a, s))


@given(CONDITIONS, CONDITIONS)
def test_given_changes_nothing_where_the_other_holds(a: Condition, care: Condition) -> None:
    within = a.given(care)
    assert all(value(within, s) == value(a, s) for s in situations() if value(care, s))
    assert set(within.atoms) <= {*a.atoms, *care.atoms}


@given(CONDITIONS)
def test_given_itself_nothing_is_left_to_say(a: Condition) -> None:
    assert a.given(a) is (TRUE if a.possible else a.given(a))
    assert (~a).given(a) is (FALSE if a.possible else (~a).given(a))


@given(CONDITIONS, st.sampled_from(ATOMS), st.booleans())
def test_assume(a: Condition, one: Atom, truth: bool) -> None:
    assert means(a.assume(one, truth), lambda s: value(a, {**s, one: truth}))


@given(CONDITIONS, st.sets(st.sampled_from(["needs", "none", "flag", "test"])))
def test_forget_is_the_weakest_that_is_implied(a: Condition, keep: set[str]) -> None:
    free = [one for one in ATOMS if one.kind not in keep]

    def somehow(s: Situation) -> bool:
        choices = itertools.product((False, True), repeat=len(free))
        return any(value(a, {**s, **dict(zip(free, c, strict=True))}) for c in choices)

    assert means(a.forget(keep), somehow)


@given(CONDITIONS)
def test_terms_say_the_same(a: Condition) -> None:
    terms = a.terms()
    assert means(a, lambda s: any(all(s[one] == truth for one, truth in term) for term in terms))


def test_terms_of_the_constants() -> None:
    assert TRUE.terms() == [[]]
    assert FALSE.terms() == []


@given(CONDITIONS)
def test_nothing_is_claimed_of_what_is_unknown(a: Condition) -> None:
    assert ~UNKNOWN is UNKNOWN
    assert a & UNKNOWN is (FALSE if a is FALSE else UNKNOWN)
    assert UNKNOWN & a is (FALSE if a is FALSE else UNKNOWN)
    assert a | UNKNOWN is (TRUE if a is TRUE else UNKNOWN)
    assert UNKNOWN | a is (TRUE if a is TRUE else UNKNOWN)
    assert UNKNOWN.possible
    assert not UNKNOWN.known
    assert UNKNOWN.implies(a) == (a is TRUE)
    assert a.implies(UNKNOWN) == (a is FALSE)
    assert UNKNOWN.given(a) is UNKNOWN
    assert a.given(UNKNOWN) == a
    assert UNKNOWN.forget(("needs",)) is UNKNOWN


def test_too_many_atoms_are_unknown() -> None:
    every = TRUE
    for key in range(MAX_ATOMS):
        every = every & atom("test", key)
    assert every.known
    assert every & atom("test", MAX_ATOMS) is UNKNOWN
    assert every & atom("test", 0) == every
