"""Films: as many frames as promised, things where they are at that time, and clear words where none can be made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import catena as ct
from catena.output import movie
from made_up import made_up, tumbling

ORANGE = np.array([0xD5, 0x5E, 0x00])


def circling(count: int = 41) -> ct.Run:
    """A point that goes round the unit circle once, in a plane."""
    system = ct.Hamiltonian("p1**2/2 + p2**2/2 + q1**2/2 + q2**2/2", q=["q1", "q2"], p=["p1", "p2"])
    angle = np.linspace(0.0, 2.0 * np.pi, count)
    q, p = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    return made_up(system, {"q": q, "p": p})


def frames_of(film: Path) -> list[np.ndarray]:
    """All frames of a film as (height, width, 3)."""
    if film.suffix == ".gif":
        with Image.open(film) as opened:
            found = []
            for number in range(opened.n_frames):
                opened.seek(number)
                found.append(np.asarray(opened.convert("RGB")))
        return found
    read = [movie._ffmpeg(), "-v", "error", "-i", str(film), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    dots = subprocess.run(read, capture_output=True, check=True).stdout
    return list(np.frombuffer(dots, np.uint8).reshape(-1, 480, 640, 3))


def centre_of(frame: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Mean place (x to the right, y up, in dots from the middle) of what has this colour."""
    near = np.abs(frame.astype(int) - colour).sum(axis=2) < 60
    rows, columns = np.nonzero(near)
    return np.array([columns.mean() - 319.5, 239.5 - rows.mean()])


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_film_has_its_frames_and_shows_the_point_where_it_is(suffix: str, tmp_path: Path) -> None:
    """The circle fills 1/1.2 of the height of 480 dots: a radius of 200. A mirrored or shifted picture would be off by far more."""
    film = circling().movie(tmp_path / f"film{suffix}", seconds=1, fps=8)
    frames = frames_of(film)
    assert len(frames) == 8 and frames[0].shape == (480, 640, 3)
    for number, frame in enumerate(frames):
        angle = 2.0 * np.pi * round(number * 40 / 7) / 40
        np.testing.assert_allclose(centre_of(frame, ORANGE), 200.0 * np.array([np.cos(angle), np.sin(angle)]), atol=2.0)


def test_bodies_that_move_are_seen_to_move(tmp_path: Path) -> None:
    """A box from left to right: the middle of what is not white goes along, and the motion of a linkage and a body are drawn at all."""
    place = np.zeros((5, 3))
    place[:, 0] = np.linspace(-3.0, 3.0, 5)
    fields = {"position": place[:, None], "orientation": np.tile([1.0, 0, 0, 0], (5, 1, 1))}
    fields |= {name: np.zeros((5, 1, 3)) for name in ("momentum", "angular_momentum")}
    run = made_up(ct.Linkage([ct.Body.box((1, 1, 1))], []), fields)
    frames = frames_of(run.movie(tmp_path / "box.gif", seconds=2, fps=6))
    middles = [np.nonzero((frame[60:420] < 200).any(axis=2))[1].mean() for frame in frames]
    assert len(frames) == 5 and (np.diff(middles) > 20).all() and abs(np.mean(middles) - 319.5) < 3.0


@pytest.mark.parametrize(
    "system",
    [
        ct.FreeBody(ct.Body.box((1, 2, 3))),
        ct.Top(ct.Body(moments=(1, 1, 0.5)), ct.Gravity()),
        ct.ScalingBody(ct.Body.ellipsoid((1, 2, 3))),
        ct.problems.double_pendulum().system,
        ct.problems.pendulum().system,
    ],
    ids=lambda system: system.kind,
)
def test_every_kind_of_system_has_a_film(system: ct.Run, tmp_path: Path) -> None:
    frames = frames_of(tumbling(system, count=2).movie(tmp_path / "film.gif"))
    assert len(frames) == 2
    assert all(len(np.unique(frame.reshape(-1, 3), axis=0)) > 20 for frame in frames)
    assert (frames[0] != frames[1]).any()


def test_what_cannot_be_filmed_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = circling(5)
    with pytest.raises(ct.InputError, match=r"(?s)'film.avi' is no film.*at movie.path.*\.mp4 or \.gif") as refused:
        run.movie(tmp_path / "film.avi")
    assert refused.value.do
    with pytest.raises(ct.InputError, match="seconds = -1"):
        run.movie(tmp_path / "film.gif", seconds=-1)
    with pytest.raises(ct.InputError, match="single sample"):
        circling(1).movie(tmp_path / "film.gif")
    monkeypatch.setattr(movie.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(ct.CapabilityError, match=r"catena\[movie\]"):
        run.movie(tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_is_broken_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(picture: object, frame: int) -> None:
        if frame > 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(movie._Path, "draw", fail)
    for name in ("film.gif", "film.mp4"):
        with pytest.raises(KeyboardInterrupt):
            circling().movie(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
