"""What scipy makes of seeded tallies, as text cases for `tests/it/stats.rs`:

    python3 tests/third_party/evaluate/cases.py > tests/cases/stats/scipy.txt
"""

import random

import numpy as np
from scipy import stats

import section5


def tallies(cases):
    return " ".join(f"{passed}/{valid}" for passed, valid in cases)


def words(values):
    return " ".join("none" if value is None else repr(float(value)) for value in values)


def drawn(random, n_cases, k):
    rates = [random.betavariate(2, 1) for _ in range(n_cases)]
    return [(sum(random.random() < rate for _ in range(k)), k) for rate in rates]


def main():
    print("# Made by `python3 tests/third_party/evaluate/cases.py`; after `=` what scipy says.")
    for degrees in [1, 2, 3, 4, 5, 9, 10, 23, 49, 100, 999, 10_000]:
        for p in [0.6, 0.9, 0.975, 0.9995]:
            print(f"t {p} {degrees} = {words([stats.t.ppf(p, degrees)])}")
    chance = random.Random(1)
    for n_cases, k in [(1, 5), (1, 1), (1, 200), (4, 5), (5, 1), (5, 5), (12, 3), (24, 10), (50, 5)]:
        cases = drawn(chance, n_cases, k)
        score = section5.score(cases)
        print(f"score {tallies(cases)} = {words(score)}")
        for of in sorted({1, 2, k, k + 1}):
            values = [section5.pass_at(cases, of), section5.pass_all(cases, of)]
            print(f"pass {of} {tallies(cases)} = {words(values)}")
    # Cases without a valid run, or with fewer than others.
    print(f"score 0/0 3/5 = {words(section5.score([(0, 0), (3, 5)]))}")
    uneven = [(3, 5), (2, 3), (0, 0), (5, 5)]
    print(f"pass 4 {tallies(uneven)} = {words([section5.pass_at(uneven, 4), section5.pass_all(uneven, 4)])}")
    for n_cases, k in [(1, 10), (4, 10), (5, 10), (6, 1), (10, 5), (15, 10), (20, 1), (40, 1), (400, 1), (5, 3)]:
        a, b = drawn(chance, n_cases, k), drawn(chance, n_cases, k)
        mean, interval, p = section5.difference(a, b)
        assert p is not None, "more cases differ than are flipped in all ways: their p is drawn"
        print(f"difference {tallies(a)} > {tallies(b)} = {words([mean, *interval, p, section5.detectable(a, b)])}")
    for n_cases, k in [(1, 3), (5, 3), (12, 5)]:
        draw = np.random.default_rng(n_cases)
        a, b = draw.lognormal(0, 1, (n_cases, k)), draw.lognormal(0.2, 1, (n_cases, k))
        sides = " > ".join(" ".join(",".join(repr(float(value)) for value in case) for case in side) for side in (a, b))
        print(f"ratio {sides} = {words(section5.ratio(a.tolist(), b.tolist()))}")


if __name__ == "__main__":
    main()
