"""How many steps are made at once, from the time that those before took."""

from __future__ import annotations

from catena.engine.pace import CHUNK_SECONDS, Pace
from catena.running.ensembles import gpus
from catena.running.ensembles.following import FIRST_CHUNK


def chunks(steps: int, each: float, times: float) -> list[int]:
    """The chunks of so many steps which take so many seconds each."""
    pace, made = Pace(FIRST_CHUNK, every=steps, times=times), [0]
    while sum(made) < steps:
        made.append(pace.after(sum(made), steps - sum(made)))
        pace.took(made[-1], each * made[-1])
    return made[1:]


def test_a_launch_lasts_as_long_as_it_is_said() -> None:
    """Steps of 1 ms: ten thousand of them, a hundred at a time on a processor, five hundred on a GPU."""
    each = 0.01 * CHUNK_SECONDS
    for times in (1.0, gpus.LAUNCH_TIMES):
        usual = round(times * CHUNK_SECONDS / each)
        made = chunks(10_000, each, times)
        assert set(made[1:-1]) == {usual} and sum(made) == 10_000


def test_a_thousand_steps_of_many_long_chains_are_three_launches() -> None:
    """Steps of 1 ms, as 65 536 chains of 64 bodies take on a large GPU; with the chunks of a processor they were nine."""
    assert len(chunks(1000, 1e-3, gpus.LAUNCH_TIMES)) == 3
    assert len(chunks(1000, 1e-3, 1.0)) == 9
