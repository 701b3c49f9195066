"""When a process that died is started again. Pure: the clock is passed in."""

from __future__ import annotations

import msgspec

from heronpy.kernel.config import Config


class Restarts(msgspec.Struct, frozen=True):
    """The restart history of one process."""

    #: restarts in all
    total: int = 0
    #: restarts since it last ran for a quiet time
    streak: int = 0


class RestartPolicy(msgspec.Struct, frozen=True):
    """At once the first time, then after a pause that doubles; a quiet time starts over."""

    delay: float
    delay_max: float
    reset: float
    #: restarts in a row; 0 is no limit
    attempts: int = 0

    @classmethod
    def of(cls, config: Config) -> RestartPolicy:
        return cls(
            config.number("container.restart_delay"),
            config.number("container.restart_delay_max"),
            config.number("container.restart_reset"),
            config["container.restart_attempts"],
        )

    def after_exit(self, past: Restarts, *, started: float, now: float) -> tuple[Restarts, float]:
        """What to remember, and the time at which to start it again."""
        streak = 1 if now - started >= self.reset else past.streak + 1
        return Restarts(past.total + 1, streak), now + self.pause(streak)

    def gives_up(self, restarts: Restarts) -> bool:
        """Whether the restart that after_exit() counted is one too many."""
        return 0 < self.attempts < restarts.streak

    def pause(self, streak: int) -> float:
        """Seconds before the restart that is number `streak` in a row."""
        if streak <= 1:
            return 0.0
        # the exponent is bounded because a float is not
        return min(self.delay_max, self.delay * 2.0 ** min(streak - 2, 1000))
