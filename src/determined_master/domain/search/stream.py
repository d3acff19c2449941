"""The random numbers of a search: MT19937, addressed by position.

Seeding and draws are those of NumPy's legacy `RandomState(seed)`, so a search repeats what the
same seed gave before. The position is the number of 32-bit words drawn: a search stores nothing
else. Restoring a position costs 10 ms per million words, only after a restart. Source: Matsumoto
and Nishimura 1998, ACM TOMACS 8(1) 3-30; `init_genrand` of 2002.
"""

from __future__ import annotations

from random import Random
from uuid import UUID

_WORDS = 624
_SKIP = 1 << 16


class Stream:
    """One seed's sequence of 32-bit words, and the position of the next draw.

    Every draw is a function of (seed, position): the generator object only avoids finding the
    position again.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed & 0xFFFFFFFF
        self._rng = Random()
        self._restart()

    @property
    def position(self) -> int:
        """Words drawn since the seed."""
        return self._position

    def seek(self, position: int) -> None:
        """Make the next draw read word `position`."""
        if position < self._position:
            self._restart()
        while self._position < position:
            words = min(_SKIP, position - self._position)
            self._rng.getrandbits(32 * words)
            self._position += words

    def word(self) -> int:
        """A uniform integer in [0, 2^32). One word."""
        self._position += 1
        return self._rng.getrandbits(32)

    def double(self) -> float:
        """A uniform multiple of 2^-53 in [0, 1). Two words."""
        self._position += 2
        return self._rng.random()

    def up_to(self, limit: int) -> int:
        """A uniform integer in [0, limit], by masked rejection; `limit` is below 2^64.

        One word a try where the limit fits in one, else two, the high one first; a limit of 0
        draws nothing.
        """
        mask = (1 << limit.bit_length()) - 1
        while limit:
            value = self.word() if mask < 1 << 32 else self.word() << 32 | self.word()
            if value & mask <= limit:
                return value & mask
        return 0

    def uuid4(self) -> str:
        """A version 4 UUID from four words, each in little-endian order."""
        data = b"".join(self.word().to_bytes(4, "little") for _ in range(4))
        return str(UUID(bytes=data, version=4))

    def _restart(self) -> None:
        word = self._seed
        words = [word]
        for i in range(1, _WORDS):
            word = (1812433253 * (word ^ word >> 30) + i) & 0xFFFFFFFF
            words.append(word)
        self._rng.setstate((3, (*words, _WORDS), None))
        self._position = 0
