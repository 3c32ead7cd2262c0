"""When does something hold? Boolean functions over a few atoms, kept as truth tables.

A truth table over at most `MAX_ATOMS` atoms is one integer, so conditions are canonical: two that mean the same compare equal,
and asking "can this be?" is comparing with 0. Past the limit a condition is `UNKNOWN`, about which nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

MAX_ATOMS = 8

Kind = Literal["needs", "lost", "none", "missing", "flag", "test", "unknown"]


@dataclass(frozen=True, slots=True)
class Atom:
    """One elementary test.

    `needs`: argument `key` needs a gradient. `lost`: a tensor derived from it says that it does, and may be wrong in saying no.
    `none`: argument `key` is None, `missing`: another value is. `flag`: a test about flags that cannot be told apart by argument.
    `test`: any other. The keys of `missing`, `flag` and `test` are the interpreter's own.
    """

    kind: Kind
    key: int


@dataclass(frozen=True, slots=True)
class Condition:
    """Bit `i` of `table` is the value for the assignment in which atom `k` is bit `k` of `i`."""

    atoms: tuple[Atom, ...]
    table: int

    def __invert__(self) -> Condition:
        if self is UNKNOWN:
            return UNKNOWN
        if not self.atoms:
            return FALSE if self is TRUE else TRUE
        return Condition(self.atoms, _ones(len(self.atoms)) ^ self.table)

    def __and__(self, other: Condition) -> Condition:
        if self is FALSE or other is FALSE:
            return FALSE
        if self is TRUE or self is other:
            return other
        if other is TRUE:
            return self
        return _combine(self, other, "and")

    def __or__(self, other: Condition) -> Condition:
        if self is TRUE or other is TRUE:
            return TRUE
        if self is FALSE or self is other:
            return other
        if other is FALSE:
            return self
        return _combine(self, other, "or")

    @property
    def known(self) -> bool:
        return self is not UNKNOWN

    @property
    def possible(self) -> bool:
        """Can it hold? Unknown counts as possible."""
        return self is UNKNOWN or self.table != 0

    def implies(self, other: Condition) -> bool:
        """Surely, whenever this holds the other does. Never claimed of something unknown."""
        both = self & ~other
        return both.known and not both.possible

    def given(self, care: Condition) -> Condition:
        """The same wherever `care` holds, with the atoms that then no longer matter left out."""
        if self is UNKNOWN or care is UNKNOWN or not self.atoms or care is TRUE:
            return self
        atoms = _union(self, care)
        if len(atoms) > MAX_ATOMS:
            return self
        table, mask = _expand(self, atoms), _expand(care, atoms)
        for k in range(len(atoms)):
            t0, t1, m0, m1 = _cofactor(table, k, 0), _cofactor(table, k, 1), _cofactor(mask, k, 0), _cofactor(mask, k, 1)
            if (t0 ^ t1) & m0 & m1 & _ones(len(atoms)) == 0:
                table, mask = (t0 & m0) | (t1 & m1 & ~m0), m0 | m1
        return _reduce(atoms, table)

    def forget(self, keep: Iterable[str]) -> Condition:
        """The weakest condition over atoms of the kinds to keep that this one implies."""
        if self is UNKNOWN:
            return UNKNOWN
        out, wanted = self, set(keep)
        for atom in self.atoms:
            if atom.kind not in wanted:
                k = out.atoms.index(atom) if atom in out.atoms else -1
                if k >= 0:
                    out = _reduce(out.atoms, _cofactor(out.table, k, 0) | _cofactor(out.table, k, 1))
        return out

    def assume(self, atom: Atom, value: bool) -> Condition:
        """This condition where `atom` is known to be `value`."""
        if atom not in self.atoms:
            return self
        return _reduce(self.atoms, _cofactor(self.table, self.atoms.index(atom), int(value)))

    def terms(self) -> list[list[tuple[Atom, bool]]]:
        """A short way to say it: any of these lists of atoms, each of them true or false. TRUE is `[[]]`, FALSE is `[]`."""
        if not self.atoms:
            return [[]] if self is TRUE else []
        first = self.atoms[0]
        low, high = self.assume(first, False), self.assume(first, True)
        if low.implies(high):
            return low.terms() + [[(first, True), *t] for t in high.given(~low).terms()]
        if high.implies(low):
            return high.terms() + [[(first, False), *t] for t in low.given(~high).terms()]
        return [[(first, True), *t] for t in high.terms()] + [[(first, False), *t] for t in low.terms()]


TRUE = Condition((), 1)
FALSE = Condition((), 0)
UNKNOWN = Condition((Atom("unknown", 0),), -1)


def atom(kind: Kind, key: int) -> Condition:
    """The condition that an atom is true."""
    return Condition((Atom(kind, key),), 0b10)


@cache
def _ones(atoms: int) -> int:
    return (1 << (1 << atoms)) - 1


@cache
def _mask(k: int, atoms: int) -> int:
    """The table of atom `k` alone among so many."""
    block = ((1 << (1 << k)) - 1) << (1 << k)
    out, width = block, 1 << (k + 1)
    while width < 1 << atoms:
        out |= out << width
        width <<= 1
    return out


def _cofactor(table: int, k: int, value: int) -> int:
    """The table with atom `k` fixed; for tables wide enough that the shift stays inside (the mask sees to it)."""
    mask, shift = _mask(k, MAX_ATOMS), 1 << k
    if value:
        high = table & mask
        return high | (high >> shift)
    low = table & ~mask
    return low | (low << shift)


def _union(a: Condition, b: Condition) -> tuple[Atom, ...]:
    if a.atoms == b.atoms:
        return a.atoms
    return tuple(sorted({*a.atoms, *b.atoms}, key=lambda a: (a.kind, a.key)))


def _expand(c: Condition, atoms: tuple[Atom, ...]) -> int:
    """The table of `c` over more atoms."""
    if c.atoms == atoms:
        return c.table
    table, own = c.table, 0
    for k, atom in enumerate(atoms):
        if own < len(c.atoms) and c.atoms[own] == atom:
            own += 1
        else:
            table = _insert(table, k, len(c.atoms) + k - own)
    return table


@lru_cache(maxsize=1 << 16)
def _insert(table: int, k: int, atoms: int) -> int:
    """The same over one atom more, which does not matter, in place `k`."""
    out, width = 0, 1 << k
    block = (1 << width) - 1
    for i in range(1 << (atoms - k)):
        part = (table >> (i * width)) & block
        out |= (part | part << width) << (2 * i * width)
    return out


def _reduce(atoms: tuple[Atom, ...], table: int) -> Condition:
    """Leave out the atoms that do not matter."""
    table &= _ones(len(atoms))
    k = 0
    while k < len(atoms):
        low, high = _cofactor(table, k, 0), _cofactor(table, k, 1)
        if (low ^ high) & _ones(len(atoms)) == 0:
            table = _drop(table, k, len(atoms))
            atoms = atoms[:k] + atoms[k + 1 :]
        else:
            k += 1
    if not atoms:
        return TRUE if table & 1 else FALSE
    return Condition(atoms, table)


@lru_cache(maxsize=1 << 16)
def _drop(table: int, k: int, atoms: int) -> int:
    """The same without atom `k`, which does not matter."""
    out, width = 0, 1 << k
    block = (1 << width) - 1
    for i in range(1 << (atoms - 1 - k)):
        out |= ((table >> (2 * i * width)) & block) << (i * width)
    return out


@lru_cache(maxsize=4096)
def _combine(a: Condition, b: Condition, how: str) -> Condition:
    if a is UNKNOWN or b is UNKNOWN:
        return UNKNOWN
    atoms = _union(a, b)
    if len(atoms) > MAX_ATOMS:
        return UNKNOWN
    x, y = _expand(a, atoms), _expand(b, atoms)
    return _reduce(atoms, x & y if how == "and" else x | y)
