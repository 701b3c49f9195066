"""The random numbers of java.util.Random, bit for bit."""

from __future__ import annotations

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1
_UNIT = 1.0 / (1 << 53)


class JavaRandom:
    """A linear congruential generator of 48 bits, as Java's documentation defines it.

    >>> JavaRandom(42).integer(), JavaRandom(42).below(100)
    (-1170105035, 0)
    """

    __slots__ = ("_seed",)

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ _MULTIPLIER) & _MASK

    def bits31(self) -> int:
        """Java's next(31): an int from 0."""
        self._seed = seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
        return seed >> 17

    def integer(self) -> int:
        """Java's nextInt(): an int of 32 bits with a sign."""
        self._seed = seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
        found = seed >> 16
        return found - (1 << 32) if found >> 31 else found

    def below(self, bound: int) -> int:
        """Java's nextInt(bound): from 0 to below the bound, which is less than 2**31."""
        found = self.bits31()
        if not bound & (bound - 1):
            return (bound * found) >> 31
        value = found % bound
        # the last, incomplete range of values would come too often
        while found - value + bound > 1 << 31:
            found = self.bits31()
            value = found % bound
        return value

    def real(self) -> float:
        """Java's nextDouble(): from 0.0 to below 1.0."""
        seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
        self._seed = (seed * _MULTIPLIER + 0xB) & _MASK
        return (((seed >> 22) << 27) + (self._seed >> 21)) * _UNIT

    def long(self) -> int:
        """Java's nextLong(): an int of 64 bits with a sign."""
        found = ((self.integer() << 32) + self.integer()) & ((1 << 64) - 1)
        return found - (1 << 64) if found >> 63 else found
