"""Who counts as silent, and that nobody is blamed for the time in which nobody listened."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.liveness.silence import SilenceDetector

PATIENCE = 8.0


def detector_at(now: float) -> SilenceDetector[str]:
    made: SilenceDetector[str] = SilenceDetector(PATIENCE)
    made.look(now)
    made.hear("a")
    return made


def look_until(detector: SilenceDetector[str], now: float, until: float) -> None:
    while now < until:
        now += detector.interval
        detector.look(now)


def test_somebody_is_silent_after_the_patience_and_not_before() -> None:
    detector = detector_at(100.0)
    look_until(detector, 100.0, 108.0)
    assert (detector.silent(), detector.quiet("a")) == ([], PATIENCE)
    detector.look(108.5)
    assert (detector.silent(), detector.quiet("a")) == (["a"], PATIENCE + 0.5)


def test_a_sign_of_life_starts_over_and_who_is_forgotten_is_not_awaited() -> None:
    detector = detector_at(0.0)
    detector.hear("b")
    look_until(detector, 0.0, 7.0)
    detector.hear("a")
    look_until(detector, 7.0, 12.0)
    assert detector.silent() == ["b"]
    detector.forget("b")
    assert (detector.silent(), detector.quiet("b"), detector.awaits("b")) == ([], 0.0, False)


def test_who_stood_still_himself_blames_nobody() -> None:
    detector = detector_at(0.0)
    look_until(detector, 0.0, 5.0)
    detector.look(5000.0)
    assert detector.silent() == []
    assert detector.quiet("a") == 5.0 + 2 * detector.interval


def test_it_looks_about_every_second_or_more_often_where_patience_is_short() -> None:
    assert SilenceDetector[str](30.0).interval == 1.0
    assert SilenceDetector[str](2.0).interval == 0.25
    assert SilenceDetector[str](30.0, longest=30.0).interval == 3.75
    assert SilenceDetector[str](30.0).next_look() is None
    assert detector_at(100.0).next_look() == 101.0


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.booleans()), max_size=200))
def test_silence_is_never_longer_than_the_time_that_passed_nor_than_what_was_listened_to(
    steps: list[tuple[float, bool]],
) -> None:
    detector, now, heard, looks = detector_at(0.0), 0.0, 0.0, 0
    for gap, beaten in steps:
        now, looks = now + gap, looks + 1
        detector.look(now)
        if beaten:
            detector.hear("a")
            heard, looks = now, 0
        assert detector.quiet("a") <= now - heard + 1e-6
        assert detector.quiet("a") <= looks * 2 * detector.interval + 1e-6
        assert not (beaten and detector.silent())
