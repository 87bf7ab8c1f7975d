"""Weights of symmetric compositions and Runge-Kutta-Nystrom splittings.

Each set is palindromic and sums to 1, so only its free numbers are stored, as printed, next to their source; the inner
numbers follow from the sum. The inner number in float64 is 1 minus the sum of the outer ones in float64, computed
exactly and rounded once: otherwise the stages would not add up to the step, and the clock would be off in every step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CompositionScheme:
    """Weights g_1..g_s that raise a symmetric method Phi of order 2: Phi(g_s dt) o ... o Phi(g_1 dt).

    Attributes
    ----------
    name, order : its name in SCHEMES, and the order of the composition
    weights : (s,) float64, palindromic, read-only
    exact_weights : the weights to all known digits
    cite : key in references.bib
    """

    name: str
    order: int
    weights: NDArray[np.float64]
    exact_weights: tuple[Fraction, ...]
    cite: str


@dataclass(frozen=True, eq=False)
class Nystrom:
    """Symmetric splitting kick(b_1 dt) drift(a_1 dt) ... drift(a_s dt) kick(b_(s+1) dt).

    Above order 2 only for H = p M^-1 p / 2 + V(q) with constant M, because the order conditions use
    [V, [V, [V, T]]] = 0. The last kick and the first one of the next step need the same force, so a step costs s
    forces.

    Attributes
    ----------
    name, order : its name in NYSTROM, and its order
    kicks, drifts : (s + 1,) and (s,) float64, palindromic, read-only
    exact_kicks, exact_drifts : the same to all known digits
    cite : key in references.bib
    """

    name: str
    order: int
    kicks: NDArray[np.float64]
    drifts: NDArray[np.float64]
    exact_kicks: tuple[Fraction, ...]
    exact_drifts: tuple[Fraction, ...]
    cite: str


@dataclass(frozen=True, eq=False)
class CommutatorNystrom(Nystrom):
    """The same with a flow of [V, [V, T]] over v_i dt^3 in kick i.

    Attributes
    ----------
    commutators : (s + 1,) float64, palindromic, read-only
    exact_commutators : the same to all known digits
    """

    commutators: NDArray[np.float64]
    exact_commutators: tuple[Fraction, ...]


def palindrome(outer: Iterable[Fraction], *, inner: int) -> tuple[Fraction, ...]:
    """The palindrome with sum 1 that starts with the outer numbers and has 1 or 2 equal inner ones.

    Examples
    --------
    >>> [str(number) for number in palindrome([Fraction(2, 5)], inner=2)]
    ['2/5', '1/10', '1/10', '2/5']
    """
    outer = tuple(outer)
    middle = (1 - 2 * sum(outer, Fraction(0))) / inner
    return (*outer, *(middle,) * inner, *reversed(outer))


def _round(outer: Iterable[Fraction], *, inner: int) -> NDArray[np.float64]:
    numbers = palindrome(map(Fraction, map(float, outer)), inner=inner)
    rounded = np.array(numbers, dtype=float)
    rounded.flags.writeable = False
    return rounded


def _composition(name: str, order: int, outer: Iterable[str | Decimal], cite: str) -> CompositionScheme:
    exact = list(map(Fraction, outer))
    return CompositionScheme(name, order, _round(exact, inner=1), palindrome(exact, inner=1), cite)


def _nystrom(name: str, order: int, *, kicks: Iterable[str], drifts: Iterable[str], cite: str) -> Nystrom:
    outer_kicks, outer_drifts = list(map(Fraction, kicks)), list(map(Fraction, drifts))
    # s drifts lie between s + 1 kicks, so exactly one of the two palindromes has a single middle number
    inner_kicks, inner_drifts = (2, 1) if len(outer_kicks) == len(outer_drifts) else (1, 2)
    return Nystrom(
        name,
        order,
        _round(outer_kicks, inner=inner_kicks),
        _round(outer_drifts, inner=inner_drifts),
        palindrome(outer_kicks, inner=inner_kicks),
        palindrome(outer_drifts, inner=inner_drifts),
        cite,
    )


def _commutator_nystrom(
    name: str, order: int, *, kicks: Iterable[str], drifts: Iterable[str], commutators: Iterable[str], cite: str
) -> CommutatorNystrom:
    plain = _nystrom(name, order, kicks=kicks, drifts=drifts, cite=cite)
    half = list(map(Fraction, commutators))
    exact = (*half, *reversed(half[: len(plain.kicks) - len(half)]))
    rounded = np.array(exact, dtype=float)
    rounded.flags.writeable = False
    return CommutatorNystrom(**vars(plain), commutators=rounded, exact_commutators=exact)


def _jump(count: int) -> Decimal:
    """g = 1 / (n - n^(1/3)), the solution of n g^3 + (1 - n g)^3 = 0."""
    with localcontext(Context(prec=60)):
        return 1 / (count - Decimal(count) ** (Decimal(1) / 3))


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        _composition("yoshida4", 4, [_jump(2)], "yoshida1990"),
        _composition("suzuki4", 4, [_jump(4)] * 2, "suzuki1990"),
        # Solution A, polished to 30 digits on the order conditions: the usual 15 digits are off by up to 3e-15.
        _composition(
            "yoshida6",
            6,
            [
                "0.784513610477557263819497633866",
                "0.235573213359358133684793182979",
                "-1.17767998417887100694641568096",
            ],
            "yoshida1990",
        ),
        _composition(
            "kahanli6",
            6,
            [
                "0.39216144400731413927925056",
                "0.33259913678935943859974864",
                "-0.70624617255763935980996482",
                "0.08221359629355080023149045",
            ],
            "kahan1997",
        ),
        # Solution D, polished in the same way: the usual 15 digits are off by up to 3e-13.
        _composition(
            "yoshida8",
            8,
            [
                "0.914844246229791566748793489848",
                "0.253693336566211354146146020690",
                "-1.44485223686060515769473065754",
                "-0.158240635368050175204066776760",
                "1.93813913762252598657918648744",
                "-1.96061023297531080760763337640",
                "0.102799849391796440698115131601",
            ],
            "yoshida1990",
        ),
        # Polished in the same way.
        _composition(
            "suzukiumeno8",
            8,
            [
                "0.741670364350612953448227801784",
                "-0.409100825800031593997300095894",
                "0.190754710296238379953876256450",
                "-0.573862471116082266656387726636",
                "0.299064181303655923844463540689",
                "0.334624918245298183784957979882",
                "0.315293092396766596632056663811",
            ],
            "suzuki1993",
        ),
        _composition(
            "kahanli8",
            8,
            [
                "0.13020248308889008087881763",
                "0.56116298177510838456196441",
                "-0.38947496264484728640807860",
                "0.15884190655515560089621075",
                "-0.39590389413323757733623154",
                "0.18453964097831570709183254",
                "0.25837438768632204729397911",
                "0.29501172360931029887096624",
            ],
            "kahan1997",
        ),
    )
}

# The two of Blanes & Moan have free parameters and are printed to 15 or 16 digits, so their order conditions hold to
# 1e-15 and further digits are not available.
NYSTROM = {
    splitting.name: splitting
    for splitting in (
        _nystrom("Strang", 2, kicks=[], drifts=[], cite="strang1968"),
        _nystrom(
            "SRKN6b",
            4,
            kicks=["0.0829844064174052", "0.396309801498368", "-0.0390563049223486"],
            drifts=["0.245298957184271", "0.604872665711080"],
            cite="blanes2002",
        ),
        _nystrom(
            "SRKN11b",
            6,
            kicks=[
                "0.0414649985182624",
                "0.198128671918067",
                "-0.0400061921041533",
                "0.0752539843015807",
                "-0.0115113874206879",
            ],
            drifts=[
                "0.123229775946271",
                "0.290553797799558",
                "-0.127049212625417",
                "-0.246331761062075",
                "0.357208872795928",
            ],
            cite="blanes2002",
        ),
    )
}


# Splittings with commutators. Of order 6 in the quotient by [V, [V, [V, T]]] for AAB, ABB, AAAAB, AAABB, AABAB and
# ABABB (Lyndon words in drifts A and kicks B): the first numbers are chosen, the others solve these conditions.
COMMUTATOR = {
    scheme.name: scheme
    for scheme in (
        _commutator_nystrom("4", 4, kicks=["1/6"], drifts=[], commutators=["0", "-1/72"], cite="chin1997"),
        # 7 drifts: the smallest error terms of degree 7 found in a search, 1.2e-7 in norm
        _commutator_nystrom(
            "6",
            6,
            kicks=[
                "0.0424774042983147078751675527959",
                "0.225207618337162419954175913002",
                "0.0414817182867419891097342503965",
            ],
            drifts=["0.1454958", "0.3221967", "-0.0866718"],
            commutators=[
                "-0.0000698388",
                "-0.000272119879868186423535897965684",
                "0.000295964561778486335825975738208",
                "-0.00146510692253495591423506519642",
            ],
            cite="chin1997",
        ),
        # 5 drifts, generalised order (8, 6): errors linear in the potential start at order 8. Kicks and drifts are
        # those of the source, which has further commutators; with this commutator alone, its weights are unique.
        _commutator_nystrom(
            "6 weak",
            6,
            kicks=["0.049086460976116245491441126327892", "0.26417760988897670020014619542076"],
            drifts=["0.16873595056343742244819517340088", "0.37785158922092830388076840810121"],
            commutators=[
                "0.0016617138617585168371109658566966",
                "-0.0046149284777000164123050787928675",
                "0.000044695949410821740297241096303001",
            ],
            cite="casas2017",
        ),
    )
}
