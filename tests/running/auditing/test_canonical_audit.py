"""The thermal audit: errors of correlated series, verdicts by the documented rules, laws of systems, and baths with faults."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import stdtrit

import catena as ct
from catena.engine.build import Program, build
from catena.engine.driver import Driver
from catena.engine.pairing import Pairing
from catena.geometry import rotations
from catena.methods.base import Method
from catena.running.auditing import Canonical, Series, judge_members, judge_runs, means_of
from catena.running.auditing.means import inefficiency, means_of_members
from catena.running.thermal import canonical_of, momenta, why_no_law
from catena.systems.base import State, System
from uncompiled import simulate

faults = importlib.import_module("thermal_faults")
calibration = importlib.import_module("thermal_calibration")

TOP = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 0, 1)))
TOP_START = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0.5, -0.5, 0.3))
WARM = ct.Langevin(1.0, 1.0, seed=2026)


def memory(keep: float, samples: int, count: int, seed: int = 1) -> np.ndarray:
    """(samples, count) series of variance 1 and mean 0, each sample remembering so much of the one before it."""
    noise = np.random.default_rng(seed).standard_normal((samples + 500, count)) * math.sqrt(1.0 - keep**2)
    return lfilter([1.0], [1.0, -keep], noise, axis=0)[500:]


# Errors of means --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.9])
def test_the_error_of_a_mean_is_that_of_its_spread(keep: float) -> None:
    """200 series of 2000 samples: g = (1 + c)/(1 - c), and the errors told are 1.0 to 1.2 of the spread of the means (the larger of two)."""
    series = memory(keep, 2000, 200)
    assert np.median(inefficiency(series)) == pytest.approx((1.0 + keep) / (1.0 - keep), rel=0.1)
    found = means_of(series)
    assert 0.95 < np.sqrt((found.error**2).mean()) / found.mean.std() < 1.25
    alone = series.std(axis=0) / math.sqrt(len(series))
    assert keep == 0.0 or alone.mean() / found.mean.std() < 0.65, "the twin that knows no memory"


def test_a_run_that_exploded_is_judged_without_a_word_of_overflow() -> None:
    """Squares of what is left of it overflow; warnings are errors in tests."""
    series = np.where(np.arange(60) < 55, 1.0, 1e250)[:, None]
    found = means_of(series)
    assert found.mean[0] > 1e248 and not np.isfinite(found.error[0])
    assert judge_runs([Series("temperature", series)])[0].verdict == "too short"
    assert judge_runs([Series("temperature", np.full((60, 1), 9.0))])[0].verdict == "off"  # 8 by an error of nothing
    lost = ct.Hamiltonian("p**2/2 - q**4", "q", "p")
    with pytest.raises(ct.StepFailure) as failed:
        simulate(lost, lost.start(q=1.0, p=0.0), WARM, dt=0.1, steps=100)
    assert "no longer finite" in str(failed.value) and not failed.value.run.audit().ok


def test_means_of_few_or_equal_samples_are_told_as_far_as_they_are() -> None:
    few = means_of(np.ones((3, 2)))
    assert few.mean.tolist() == [1.0, 1.0] and np.isnan(few.error).all()
    equal = means_of(np.zeros((50, 1)))
    assert (equal.mean[0], equal.error[0], equal.effective[0]) == (0.0, 0.0, 50.0)


# Verdicts ----------------------------------------------------------------------------------------------------------------------


def verdict(values: np.ndarray, **more: object) -> str:
    return judge_runs([Series("x", values.reshape(len(values), -1), **more)])[0].verdict  # type: ignore[arg-type]


def with_mean(mean: float, error: float, samples: int) -> np.ndarray:
    """White noise whose mean is `mean`, and its error as told, to round-off."""
    noise = np.random.default_rng(3).standard_normal(samples)
    noise -= noise.mean()
    return mean + noise * error / means_of(noise[:, None]).error[0]


def threshold(samples: int, level: float) -> float:
    return -float(stdtrit(0.4 * samples, level / 2.0))


def test_the_verdict_changes_where_the_rules_say() -> None:
    """One row of one component: t for 0.002 with 0.4 n degrees of freedom; seen for sure is (t + 2.33) errors."""
    n, error = 1000, 0.01
    effective = means_of(with_mean(1.0, error, n)[:, None]).effective[0]
    t = threshold(effective, 0.002)
    assert verdict(with_mean(1.0 + 0.99 * t * error, error, n)) == "canonical"
    assert verdict(with_mean(1.0 - 1.01 * t * error, error, n)) == "off"
    assert verdict(with_mean(1.0 + 1.01 * t * error, error, n), configuration=True) == "canonical"
    assert verdict(with_mean(1.0 + 1.52 * t * error, error, n), configuration=True) == "off"
    row = judge_runs([Series("x", with_mean(1.0, error, n)[:, None])])[0]
    assert row.would_see == pytest.approx((t + 2.3263) * error, rel=1e-4)
    assert verdict(with_mean(1.0, 0.1 / (t + 2.32), n)) == "too short"
    assert verdict(with_mean(1.0, 0.1 / (t + 2.33), n)) == "canonical"
    assert verdict(with_mean(1.0, 0.001, 80)) == "too short"
    assert verdict(with_mean(1.29, 0.001, 80)) == "too short" and verdict(with_mean(1.31, 0.001, 80)) == "off"


def test_rows_and_components_share_the_false_alarms() -> None:
    """4.0 errors are off alone, and nothing among 8 rows of 7 components (4.15); the component that decides is named."""
    values = np.stack([with_mean(1.0, 0.01, 2000)] * 6 + [with_mean(1.040, 0.01, 2000)], axis=1)
    assert verdict(values[:, 6:]) == "off"
    numbers = list(range(3, 10))
    rows = judge_runs([Series("x", values, components=numbers)] * 8)
    assert {row.verdict for row in rows} == {"canonical"} and rows[0].label == "x[9]"


def test_a_law_near_zero_is_measured_by_its_range() -> None:
    """A cosine of 0.02 on average: 0.3 of error in a run of 1000 would be 15 times the law, and is no reason to be too short."""
    values = 0.02 + 0.3 * memory(0.0, 2000, 1)
    assert verdict(values, law=0.02, unit=1.0, configuration=True) == "canonical"
    assert verdict(values + 0.08, law=0.02, unit=1.0, configuration=True) == "off"


def test_members_that_have_not_settled_are_too_short_instead_of_off() -> None:
    """30 members whose mean is off by 9 errors: off if both halves say so, too short if the second half is another one."""
    values = with_mean(1.09, 0.01, 30)[:, None]
    halves = np.stack([values, values], axis=1)
    assert judge_members([Series("x", values, halves=halves)])[0].verdict == "off"
    spread = with_mean(0.0, 0.01, 60)[:30, None]
    unsettled = np.stack([values + 0.08 + spread, values - 0.08], axis=1)
    assert judge_members([Series("x", values, halves=unsettled)])[0].verdict == "too short"
    assert judge_members([Series("x", values[:9], halves=halves[:9])])[0].verdict == "too short", "nine members are few"


def test_slow_averages_of_members_are_off_only_if_the_second_half_says_so() -> None:
    """30 members on the way from their start: the mean is off by 5 errors, and the halves, 6.4 and 3.6 errors of the mean away, do not differ for sure."""
    noise = np.random.default_rng(1).standard_normal((30, 2))
    first, second = 0.01 * np.linalg.qr(noise - noise.mean(axis=0))[0].T[:, :, None]  # means 0, no correlation
    error = float(means_of_members((first + second) / 2.0).error[0])
    for deviations, slow in (((6.4, 3.6), "too short"), ((7.0, 7.0), "off")):
        halves = np.stack([1.0 + deviations[0] * error + first, 1.0 + deviations[1] * error + second], axis=1)
        one = Series("x", halves.mean(axis=1), halves=halves)
        assert judge_members([one])[0].verdict == "off"
        assert judge_members([one._replace(configuration=True)])[0].verdict == slow


# Laws ---------------------------------------------------------------------------------------------------------------------------


def random_states(count: int, bodies: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        "position": rng.standard_normal((count, bodies, 3)),
        "orientation": rotations.normalise(rng.standard_normal((count, bodies, 4))),
    }


def test_laws_of_links_look_at_what_their_energy_is_made_of() -> None:
    """V = stretch/2 |d - d0|^2 + bend (1 - T33) without a twist, for bodies given in other axes than their principal ones, by
    the potential itself; with another q0 and more links."""
    link = ct.BendTwist(7.0, 2.0, 0.0, (0.1, 0.2, 1.0), (0.9, 0.1, -0.3, 0.2))
    body = ct.Body.from_inertia(1.0, [[1.0, 0.1, 0.0], [0.1, 0.8, 0.05], [0.0, 0.05, 0.7]])
    chain = ct.Chain([body] * 3, link)
    stretch, bending = chain.laws(0.5)
    states = random_states(4, 3)
    for sample in range(4):
        one = {name: field[sample : sample + 1] for name, field in states.items()}
        r, x = rotations.to_matrix(one["orientation"][0]), one["position"][0]
        energies = [link.energy(r[j].T @ (x[j + 1] - x[j]), r[j].T @ r[j + 1]) for j in range(2)]
        told = 3.0 * 0.5 / 2.0 * stretch.of(one)[0] + 2.0 * (1.0 - bending.of(one)[0])
        assert told == pytest.approx(np.mean(energies), rel=1e-12)
    assert (stretch.value, bending.unit) == (1.0, 1.0)


def test_laws_have_the_digits_of_their_references() -> None:
    """Quadrature with 30 digits, at kT = 2: B, C = 4, 3 and 50, 30; L(2); a top with b = 1.5."""
    body = ct.Body.tetrahedron()

    def chain(bend: float, twist: float, **more: object) -> ct.Chain:
        return ct.Chain([body] * 4, ct.BendTwist(200.0, bend, twist, (0, 0, 1)), **more)  # type: ignore[arg-type]

    def values(system: System) -> dict[str, float]:
        return {law.name: law.value for law in system.laws(2.0)}

    assert values(chain(8.0, 6.0))["bending"] == pytest.approx(0.720816179014524032, rel=1e-14)
    assert values(chain(100.0, 60.0))["bending"] == pytest.approx(0.979896493718154510, rel=1e-14)
    pulled = values(chain(0.0, 0.0, right=ct.Force((0, 4.0, 0))))
    assert pulled == {"extension": pytest.approx(0.537314720727548096 + 4.0 / 200.0, rel=1e-14)}
    heavy = ct.Top(ct.Body(moments=(1.0, 0.8, 0.5)), ct.Gravity(1.5, (0, 2, 0)))
    assert values(heavy) == {"height": pytest.approx(-0.438124726315845237, rel=1e-14)}
    assert heavy.laws(2.0)[0].of({"orientation": np.array([1.0, 0, 0, 0])}) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "more", [{"right": "Clamped"}, {"gravity": (0, 0, -1)}, {"loads": [(1, ct.Force((0, 0, 1)))]}, {"right": ct.Force((0, 0, 1))}]
)  # fmt: skip
def test_chains_with_other_forces_have_no_laws_of_configurations(more: dict[str, object]) -> None:
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)), **more)  # type: ignore[arg-type]
    assert chain.laws(1.0) == ()


def test_what_has_no_equilibrium_is_said_instead_of_being_judged() -> None:
    chain = ct.Chain(
        [ct.Body.tetrahedron()] * 3, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)), left="Free", gravity=(0, 0, -1)
    )
    driven = ct.Chain(chain.bodies, chain.potentials[0], right=ct.Force(("sin(t)", 0, 0)))
    assert "right depends on time" in why_no_law(Pairing.of(driven, WARM))
    assert "nothing holds it" in why_no_law(Pairing.of(chain, WARM))
    assert "several temperatures" in why_no_law(Pairing.of(chain, ct.Langevin((1.0, 1.0, 2.0), 1.0)))
    assert why_no_law(Pairing.of(TOP, WARM)) == ""
    assert why_no_law(Pairing.of(TOP, ct.Splitting(2))) == "", "there is no bath"


def test_momenta_of_joints_are_compared_as_a_whole_and_joint_by_joint() -> None:
    """Two hinges and a rigid joint: 1, 1 and 0 freedoms, so the third body has no row of its own; momenta along axes have no law."""
    rod, axis = ct.Body(mass=1.0, moments=(1.0, 1.0, 0.1)), (0, 1, 0)
    ends = ((0, 0, 0.5), (0, 0, -0.5))
    joints = [
        ct.Revolute(-1, 0, at=((0, 0, 0), ends[1]), axis=axis),
        ct.Revolute(0, 1, at=ends, axis=axis),
        ct.Rigid(1, 2, at=ends),
    ]
    linkage = ct.Linkage([rod] * 3, joints)
    accounts = {
        "equipartition": np.ones((5, 1)),
        "body_temperature": np.array([[1.5, 0.5, 0.0]] * 5),
        "fourth_moment": np.ones(5),
    }
    found = {one.quantity: one for one in momenta(linkage.inertia(), accounts)}
    assert set(found) == {"temperature", "body_temperature", "fourth_moment"}
    assert found["temperature"].values.tolist() == [[1.0]] * 5 and found["body_temperature"].components == (0, 1)
    assert (
        linkage.restless == ""
        and "dampers or loads"
        in ct.Linkage([rod], joints[:1], [ct.Damper(-1, 0, at=((0, 0, 0), (0, 0, 0)), c=1.0)]).restless
    )


# Runs ---------------------------------------------------------------------------------------------------------------------------


def judged(program: Program, start: State, *, dt: float, samples: int, every: int, member: int = 0) -> Canonical:
    """The canonical rows of a run by this program."""
    driver = Driver(program, program.view.pack(start), t0=0.0, dt=dt, every=every, member=member)
    rows = np.concatenate([driver.first_row().rows, driver.advance(samples * every).rows])
    pairing = Pairing.of(program.system, program.method)
    return canonical_of(pairing, {**pairing.columns(rows), "time": np.arange(len(rows)) * dt * every})


def test_a_run_in_a_bath_is_compared_with_the_laws_of_its_temperature() -> None:
    """A top for 24 000 times its correlation time: every row is canonical, and nothing advises what is refused."""
    run = ct.simulate(TOP, TOP_START, WARM, dt=0.1, steps=240_000, every=120)
    audit = run.audit()
    assert {row.quantity: row.verdict for row in audit.canonical} == dict.fromkeys(
        ("temperature", "angular_momentum", "fourth_moment", "height"), "canonical"
    )
    row = audit.canonical["height"]
    assert row.law == pytest.approx(-0.438124726315845237) and abs(row.mean - row.law) < 4.5 * row.error
    text = str(audit)
    assert "would have seen" in text and "run.error()" not in text and audit.ok
    assert json.loads(json.dumps(audit.to_dict()))["temperature"]["verdict"] == "canonical"
    assert "canonical" in audit._repr_html_() and "run.error()" not in audit._repr_html_()
    published = run.data.angular_momentum.values[400:, :2] ** 2 / np.array([1.0, 0.8])
    assert np.abs(published.mean(axis=0) - 1.0).max() < 0.05, "at this step the momenta of samples are nearly right"


@pytest.mark.parametrize("fault", ["temperature", "frozen"])
def test_a_wrong_bath_is_off(fault: str) -> None:
    """The same compiled step with other constants: noise of 10 % more heat; the third component without any."""
    program = build(TOP, WARM)
    timed = program.arrays.timed
    assert timed is not None

    def wrong(dt: float) -> dict[str, np.ndarray]:
        made = {name: array.copy() for name, array in timed(dt).items()}
        if fault == "temperature":
            made["stir"] *= math.sqrt(1.1)
        else:
            made["loss"][0, 2], made["stir"][0, 2] = -1.0, 0.0
        return made

    broken = replace(program, arrays=replace(program.arrays, timed=wrong))
    found = judged(broken, TOP_START, dt=0.1, samples=2000, every=120)
    assert (
        found["angular_momentum"].verdict == "off"
        and not judged(program, TOP_START, dt=0.1, samples=2000, every=120).contradictions
    )
    assert fault == "temperature" or found["angular_momentum"].label == "angular_momentum[2]"


def test_momenta_of_the_published_state_would_be_off() -> None:
    """At dt = 0.4 they are some per cent low, in a run whose own rows are canonical but for the height, whose bias is 0.005."""
    run = ct.simulate(TOP, TOP_START, WARM, dt=0.4, steps=240_000, every=10)
    published = run.data.angular_momentum.values[4800:, :2] ** 2 / np.array([1.0, 0.8])
    assert judge_runs([Series("published", published)])[0].verdict == "off"
    assert run.audit().canonical["angular_momentum"].verdict == "canonical"


def test_an_ensemble_is_judged_by_the_spread_of_its_members() -> None:
    """The same rows whatever is kept of the samples; the means that were folded are those of the samples, without the first fifth."""
    kept = {
        keep: ct.ensemble(TOP, TOP_START, WARM, dt=0.1, steps=4000, every=20, members=24, keep=keep)
        for keep in ("nothing", "final", "samples")
    }
    rows = [kept[keep].audit().canonical["temperature"] for keep in kept]
    assert rows[0].verdict == "canonical" and {(row.mean, row.error) for row in rows} == {(rows[0].mean, rows[0].error)}
    data = kept["samples"].data
    means = data.body_temperature.values[:, 41:, 0].mean(axis=1)
    assert rows[0].mean == pytest.approx(means.mean(), rel=1e-12)
    assert rows[0].error == pytest.approx(means.std(ddof=1) / math.sqrt(24), rel=1e-12)
    assert "height" not in kept["nothing"].audit().canonical
    orientation = data.orientation.values
    cosine = orientation[..., 0] ** 2 + orientation[..., 3] ** 2 - orientation[..., 1] ** 2 - orientation[..., 2] ** 2
    assert kept["samples"].audit().canonical["height"].mean == pytest.approx(cosine[:, 41:].mean(), rel=1e-12)
    assert kept["final"].audit().canonical["height"].mean == pytest.approx(cosine[:, -1].mean(), rel=1e-12)


def test_an_ensemble_of_which_all_members_failed_is_not_fine() -> None:
    """Tops that turn so fast that their energy overflows: no row of nan, and no advice to make more steps. One that ends well is judged as ever."""
    fast = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0, 0, 1e160))
    none = ct.ensemble(TOP, [fast] * 3, WARM, dt=0.1, steps=20).audit()
    assert not none.ok and not none.canonical.rows
    assert str(none).endswith("\n3 members, 3 failed, see failures") and "nan" not in str(none)
    one = ct.ensemble(TOP, [fast, TOP_START], WARM, dt=0.1, steps=20).audit()
    assert one.ok and one.failed == 1 and "temperature" in one.canonical


def test_an_ensemble_that_has_not_settled_is_too_short() -> None:
    """From rest with a correlation time of 20, for 16 units of time: the temperature rises all the while."""
    lazy = ct.Langevin(1.0, 0.05, seed=2026)
    rest = TOP.start((0.6, 0.8, 0, 0), angular_momentum=(0, 0, 0))
    row = (
        ct.ensemble(TOP, rest, lazy, dt=0.1, steps=160, every=4, members=200, keep="nothing")
        .audit()
        .canonical["temperature"]
    )
    assert row.verdict == "too short" and row.mean < 1.0 - 5.0 * row.error


@pytest.mark.parametrize(
    ("method", "does"), [(WARM, "dt = 0.05"), (ct.HybridMonteCarlo(1.0, substeps=2), "more substeps")], ids=["Langevin", "HMC"]
)  # fmt: skip
def test_a_step_that_is_too_long_is_refused_with_advice_for_a_bath(method: Method, does: str) -> None:
    chain = ct.Chain([ct.Body.tetrahedron()] * 3, ct.BendTwist(100.0, 4.0, 3.0, (0, 0, 1)))
    start = chain.start(position=[[0, 0, k] for k in range(3)])
    with pytest.raises(ct.InputError) as refused:
        ct.simulate(chain, start, method, dt=0.9, steps=10)
    assert does in str(refused.value) and "Gauss" not in str(refused.value)


# Long studies --------------------------------------------------------------------------------------------------------------------

SEEN = {
    "y3 of one body frozen at 0": "body_temperature",
    "friction 0.4 0.4 1.6 about body axes, noise with those of space": "momentum",
    "uniform noise, friction times dt 0.2": "fourth_moment",
    "noise at the ends of the step, dt omega 1.2, time 4000": "stretch",
    "momenta at the ends of the steps, dt omega 0.6, time 4000": "temperature",
    "hybrid Monte Carlo that accepts everything, 16 000 trajectories": "stretch",
    "temperature 10 % off, time 1000": "temperature",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN)
def test_faults_that_were_shipped_are_off(name: str) -> None:
    """Four runs each of the calibration: all have a row off, three at least the one that is meant to see it."""
    counts = calibration.audited(calibration.POWER[name], range(4))
    print(name, counts)
    assert counts.off + counts.failed == 4 and counts.by_row[SEEN[name]] + counts.failed >= 3


def test_the_recorded_calibration_keeps_its_promise() -> None:
    """At most 0.3 % false alarms in at least 5000 runs of the product; every kind that was counted is one that can be counted again."""
    recorded = json.loads(calibration.RESULT.read_text())["false"]
    assert set(recorded) == set(calibration.FALSE)
    runs, off = (sum(kind[what] for kind in recorded.values()) for what in ("runs", "off"))
    assert runs >= 5000 and off <= 0.003 * runs


DESIGNED = {  # percent of runs with a row off, and of how many, before there was a product
    "temperature 1 % off, time 1000": (0.8, 384), "temperature 1 % off, time 4000": (20.0, 256),
    "temperature 3 % off, time 1000": (67.0, 384), "temperature 3 % off, time 4000": (100.0, 256),
    "temperature 10 % off, time 1000": (100.0, 192), "y3 of one body frozen at 0": (99.0, 192),
    "friction 0.4 0.4 1.6 about body axes, noise with those of space": (99.5, 192), "the same done right": (0.0, 192),
    "uniform noise, friction times dt 0.2": (100.0, 192), "uniform noise, friction times dt 0.05": (1.0, 192),
    "dt omega = 1.2": (0.0, 192), "dt omega = 1.65": (0.4, 256),
}  # fmt: skip


def test_the_recorded_power_is_that_of_the_design() -> None:
    """Within three standard errors of the difference of two counts; where one of them is none or all, it may be as rare as one in its runs."""
    recorded = json.loads(calibration.RESULT.read_text())["power"]
    for name, (percent, runs) in DESIGNED.items():
        found, made = recorded[name]["off"], recorded[name]["runs"]
        together = np.clip((found + 0.01 * percent * runs) / (made + runs), 1.0 / runs, 1.0 - 1.0 / runs)
        error = math.sqrt(together * (1.0 - together) * (1.0 / made + 1.0 / runs))
        assert abs(found / made - 0.01 * percent) < 3.0 * error, name


def test_the_documents_have_the_tables_as_they_were_counted() -> None:
    for name, recorded in json.loads(calibration.RESULT.read_text()).items():
        if name != "seed":
            file = calibration.RESULT.with_name(f"thermal_calibration_{name}.md")
            assert file.read_text() == calibration.table_of(name, recorded) + "\n"
