"""The random numbers: known answers, the same bits everywhere, and the law of normals."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

import noise_kernels
from catena.engine.build import compile_function
from catena.kernels import noise

# D. E. Shaw Research, Random123, kat_vectors: counter, key, words
KNOWN = (
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((noise.LOW,) * 4, (noise.LOW,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)  # fmt: skip


@cache
def compiled(kernel: Callable[..., int], *dimensions: int) -> Callable[..., int]:
    return compile_function(kernel, "types.int64", dimensions, f"noise, {kernel.__name__}")


def counter(seed: int = 7, member: int = 3, step: int = 2**33 + 5) -> np.ndarray:
    return np.array([seed & noise.LOW, seed >> 32, member, step], dtype=float)


@pytest.mark.parametrize("wide", [True, False], ids=["compiled", "plain"])
def test_philox_gives_the_words_that_its_authors_publish(wide: bool) -> None:
    given = np.array([(*c, *k) for c, k, _ in KNOWN], dtype=float)
    out = np.zeros((len(KNOWN), 4))
    (compiled(noise_kernels.known_words, 2, 2) if wide else noise_kernels.known_words)(given, out)
    assert [tuple(map(int, row)) for row in out] == [words for _, _, words in KNOWN]


def test_lanes_of_every_stream_have_the_bits_of_plain_python() -> None:
    """Each stream is a literal, and for each the compiler reasons anew about signs. 70 bodies: whole vectors and a rest."""
    seed = 0x9E3779B97F4A7C15
    lanes, plain = np.zeros((2, 2 * len(noise_kernels.STREAMS), 70))
    compiled(noise_kernels.fill_streams, 1, 2)(counter(seed), lanes)
    noise_kernels.fill_streams(counter(seed), plain)
    assert np.array_equal(lanes, plain)
    assert len(np.unique(lanes)) == lanes.size
    assert 0.3 < (lanes > 0).mean() < 0.7


def test_the_plain_product_of_compiled_integers_loses_the_highest_bit() -> None:
    """Why `wide_product` is there. If this fails, numba has changed, and the plain product would do."""
    given = np.arange(1.0, 257.0) * 0x00FFFFFF % 2**32
    out = np.zeros_like(given)
    compiled(noise_kernels.highest_bits, 1, 1)(given, out)
    right = np.array([((noise.FIRST_FACTOR * int(c)) >> 32) & 0x80000000 for c in given], dtype=float)
    assert right.any()
    assert not np.array_equal(out, right)


def test_logarithms_and_normals_are_right_to_the_last_digits() -> None:
    """3.3e-16 of their size was measured; a dropped coefficient of the polynomials gives 1e-13 or more."""
    rng = np.random.default_rng(5)
    given = np.concatenate([rng.random(2000), 2.0 ** -rng.uniform(0, 53, 2000), [2.0**-53, 1 - 2.0**-53, 0.5]])
    out = np.zeros_like(given)
    compiled(noise_kernels.logarithms, 1, 1)(given, out)
    with mp.workdps(30):
        wrong = [abs(float(mp.mpf(x) / -mp.log(mp.mpf(u)) - 1)) for u, x in zip(given, out, strict=True)]
        assert max(wrong) < 5e-16
        for _ in range(300):
            w = [int(word) for word in rng.integers(0, 2**32, 4)]
            u = (mp.mpf((w[0] << 20) | (w[1] >> 12)) + 0.5) / 2**52
            angle = mp.pi / 2 * ((mp.mpf(((w[2] & 0x3FFFFFFF) << 20) | (w[3] >> 12)) + 0.5) / 2**50 - 0.5)
            radius = mp.sqrt(-2 * mp.log(u))
            signs = 1 - 2 * (w[2] >> 31), 1 - 2 * ((w[2] >> 30) & 1)
            exact = radius * mp.cos(angle + mp.pi / 4) * signs[0], radius * mp.sin(angle + mp.pi / 4) * signs[1]
            assert max(abs(float((a - b) / radius)) for a, b in zip(noise.normal_pair(*w), exact, strict=True)) < 5e-16


def standard_errors(x: np.ndarray) -> list[float]:
    """Moments 1 to 8 of a sample against those of a normal, in standard errors."""
    moments = [1.0 * math.prod(range(1, k, 2)) if k % 2 == 0 else 0.0 for k in range(1, 17)]
    of = [1.0, *moments]
    return [
        float((np.mean(x**k) - of[k]) / math.sqrt((of[2 * k] - of[k] ** 2) / x.size)) for k in range(1, 9)
    ]  # fmt: skip


def judged(x: np.ndarray) -> dict[str, float]:
    """Departures of (2, steps, bodies) numbers from independent normals, each in standard errors."""
    found = {f"moment {k + 1}": d for k, d in enumerate(standard_errors(x.ravel()))}
    near = {
        "x with y": (x[0], x[1]), "next body": (x[:, :, 1:], x[:, :, :-1]), "next step": (x[:, 1:], x[:, :-1]),
        "both": (x[:, 1:, 1:], x[:, :-1, :-1]),
    }  # fmt: skip
    for name, (a, b) in near.items():
        found[name] = float((a * b).mean() * math.sqrt(a.size))
        found[f"squares, {name}"] = float(((a**2 - 1) * (b**2 - 1)).mean() / 2 * math.sqrt(a.size))
    for bins in (256, 4096):
        counts = np.histogram(stats.norm.cdf(x.ravel()), bins, (0, 1))[0]
        chi = float(((counts - x.size / bins) ** 2).sum() * bins / x.size)
        found[f"chi^2 of {bins} bins"] = (chi - (bins - 1)) / math.sqrt(2 * (bins - 1))
    for sigma in (3.0, 4.0, 5.0):
        share = 2 * float(stats.norm.sf(sigma))
        beyond = float((np.abs(x) > sigma).sum())
        found[f"beyond {sigma:g}"] = (beyond - share * x.size) / math.sqrt(share * x.size)
    return found


def draw(seed: int, steps: int, bodies: int, member: int = 0) -> np.ndarray:
    out = np.zeros((2, steps, bodies))
    compiled(noise_kernels.fill_steps, 1, 3)(counter(seed, member, 0), out)
    return out


LIMIT = 4.2  # standard errors: one of 21 figures is beyond it in 6e-4 of correct tests, and this seed is one number


def test_normals_are_normal_and_independent() -> None:
    found = judged(draw(11, 1000, 500))
    assert max(map(abs, found.values())) < LIMIT, found


@pytest.mark.parametrize(
    ("fault", "seen_in"),
    [
        ("uniform", "moment 4"), ("wrong signs", "x with y"), ("shared by neighbours", "next body"),
        ("heavy tails", "beyond 4"), ("small bias", "moment 1"),
    ],
)  # fmt: skip
def test_wrong_noise_is_seen(fault: str, seen_in: str) -> None:
    x = draw(11, 1000, 500)
    if fault == "uniform":
        x = (stats.norm.cdf(x) - 0.5) * math.sqrt(12.0)
    elif fault == "wrong signs":
        x[0] = np.copysign(x[0], x[1])
    elif fault == "shared by neighbours":
        x[:, :, 1::2] = x[:, :, ::2]
    elif fault == "heavy tails":
        x[np.abs(x) > 3.5] *= 1.1
    else:
        x += 0.006
    assert abs(judged(x)[seen_in]) > LIMIT


@pytest.mark.slow
def test_a_hundred_million_normals_are_normal_and_independent() -> None:
    """1e8 numbers in ten parts, one after the other in steps: each departure, averaged, within its standard error times `LIMIT`."""
    parts: list[dict[str, float]] = []
    for member in range(10):
        parts.append(judged(draw(2026, 10_000, 500, member)))
    mean = {name: sum(part[name] for part in parts) / math.sqrt(len(parts)) for name in parts[0]}
    print({name: round(value, 2) for name, value in mean.items()})
    assert max(map(abs, mean.values())) < LIMIT, mean


@pytest.mark.slow
def test_neighbouring_seeds_members_and_streams_share_nothing() -> None:
    here = draw(5, 2000, 500)
    others = {
        "seed + 1": draw(6, 2000, 500), "seed + 2^32": draw(5 + 2**32, 2000, 500), "member + 1": draw(5, 2000, 500, 1),
    }  # fmt: skip
    found = {name: float((here * other).mean() * math.sqrt(here.size)) for name, other in others.items()}
    print(found)
    assert max(map(abs, found.values())) < LIMIT
