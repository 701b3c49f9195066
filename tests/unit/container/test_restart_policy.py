"""When a dead process is started again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heronpy.container.restart_policy import RestartPolicy, Restarts
from heronpy.kernel.config import load_config

POLICY = RestartPolicy(delay=0.1, delay_max=30.0, reset=60.0, attempts=20)


def pauses(lives: list[float]) -> list[float]:
    """The pause before each restart of a process that lived this long each time."""
    now, past, seen = 1000.0, Restarts(), []
    for life in lives:
        started, now = now, now + life
        past, at = POLICY.after_exit(past, started=started, now=now)
        seen.append(round(at - now, 6))
        now = at
    return seen


def test_the_settings_have_the_defaults_of_heron_toml() -> None:
    assert RestartPolicy.of(load_config("/dev/null", environ={})) == POLICY


def test_the_first_restart_is_immediate_and_then_the_pause_doubles_up_to_the_longest() -> None:
    assert pauses([0.0] * 12) == [0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_a_quiet_time_starts_over() -> None:
    assert pauses([0.0, 0.0, 0.0, 60.0, 0.0]) == [0.0, 0.1, 0.2, 0.0, 0.1]
    assert pauses([0.0, 0.0, 0.0, 59.0]) == [0.0, 0.1, 0.2, 0.4]


def test_it_is_given_up_after_so_many_restarts_in_a_row() -> None:
    past = Restarts()
    for number in range(1, 22):
        past, _ = POLICY.after_exit(past, started=0.0, now=1.0)
        assert POLICY.gives_up(past) == (number > 20)
    past, _ = POLICY.after_exit(past, started=0.0, now=60.0)
    assert not POLICY.gives_up(past)
    assert not RestartPolicy(0.1, 30.0, 60.0, attempts=0).gives_up(Restarts(10**6, 10**6))


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1000.0), max_size=50))
def test_no_pause_is_longer_than_the_longest_and_restarts_are_counted(lives: list[float]) -> None:
    assert all(0.0 <= pause <= POLICY.delay_max for pause in pauses(lives))
    past = Restarts()
    for life in lives:
        past, at = POLICY.after_exit(past, started=0.0, now=life)
        assert at >= life
        assert past.streak <= past.total
    assert past.total == len(lives)


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_the_pause_never_shrinks_while_a_streak_goes_on(streak: int) -> None:
    assert POLICY.pause(streak) <= POLICY.pause(streak + 1) <= POLICY.delay_max


@settings(deadline=None)
@given(st.floats(0.001, 1.0), st.floats(1.0, 100.0), st.integers(2, 1000))
def test_a_crash_loop_settles_at_one_start_per_longest_pause(
    delay: float, longest: float, restarts: int
) -> None:
    policy = RestartPolicy(delay, longest, reset=10 * longest)
    total = sum(policy.pause(streak) for streak in range(1, restarts + 1))
    assert total >= longest * (restarts - 20)
