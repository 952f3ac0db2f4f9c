"""The numbers of `eval` and `compare`, made again by scipy (spec `evaluate.md`, section 5)."""

import numpy as np
from scipy import special, stats

# So many signs are flipped in all ways.
MAX_EXACT = 16
MIN_CASES = 5


def mean(values):
    return float(np.mean(values)) if len(values) else None


def pass_at(cases, k):
    return mean([1 - special.comb(n - c, k, exact=True) / special.comb(n, k, exact=True) for c, n in cases if n >= k])


def pass_all(cases, k):
    return mean([special.comb(c, k, exact=True) / special.comb(n, k, exact=True) for c, n in cases if n >= k])


def student(values, low=-np.inf, high=np.inf):
    """Student's interval over cases, clipped; none for too few."""
    if len(values) < MIN_CASES:
        return (None, None)
    error = stats.sem(values)
    # scipy has none where nothing is spread.
    interval = stats.t.interval(0.95, len(values) - 1, np.mean(values), error) if error else [np.mean(values)] * 2
    return tuple(float(np.clip(value, low, high)) for value in interval)


def score(cases):
    """The mean and its interval."""
    cases = [(c, n) for c, n in cases if n]
    if len(cases) == 1:
        (c, n), = cases
        interval = stats.binomtest(c, n).proportion_ci(0.95, method="wilson")
        return (c / n, interval.low, interval.high)
    rates = [c / n for c, n in cases]
    return (mean(rates), *student(rates, 0, 1))


def differences(a, b):
    return [cb / nb - ca / na for (ca, na), (cb, nb) in zip(a, b, strict=True) if na and nb]


def p_of_signs(values, n_resamples=np.inf):
    """The p of flipping signs; scipy flips them by exchanging the samples of a pair."""
    values = [value for value in values if abs(value) > 1e-9]
    if len(values) < 2:
        # scipy wants two; of one each sign is as far from 0.
        return 1.0
    statistic = lambda x, y, axis: np.abs(np.sum(x - y, axis=axis))
    zeros = np.zeros(len(values))
    test = stats.permutation_test(
        (values, zeros), statistic, permutation_type="samples", alternative="greater", vectorized=True,
        n_resamples=n_resamples, rng=1,
    )
    return float(test.pvalue)


def difference(a, b):
    """Mean, interval and p; no p where more cases differ than are flipped in all ways."""
    values = differences(a, b)
    if all(n == 1 for _, n in a + b):
        up, down = sum(value > 0.5 for value in values), sum(value < -0.5 for value in values)
        # McNemar's exact test.
        p = stats.binomtest(up, up + down).pvalue if up + down else 1.0
    else:
        p = p_of_signs(values) if sum(abs(value) > 1e-9 for value in values) <= MAX_EXACT else None
    return mean(values), student(values, -1, 1), p


def detectable(a, b):
    values = differences(a, b)
    return 2.8 * stats.sem(values) if len(values) > 1 else None


def ratio(a, b):
    """The ratio of geometric means over cases, and its interval."""
    logs = []
    for of_a, of_b in zip(a, b, strict=True):
        of_a, of_b = [value for value in of_a if value > 0], [value for value in of_b if value > 0]
        if of_a and of_b:
            logs.append(np.log(stats.gmean(of_b)) - np.log(stats.gmean(of_a)))
    if not logs:
        return None
    low, high = student(logs)
    return (float(np.exp(np.mean(logs))), *(None if value is None else float(np.exp(value)) for value in (low, high)))


def p_of_labels(a, b, n_resamples=20_000):
    """The p of the total variation between two lists of next steps, labels permuted."""
    steps = sorted({*a, *b})

    def distance(x, y, axis):
        shares = [np.mean(x == i, axis=axis) - np.mean(y == i, axis=axis) for i in range(len(steps))]
        return np.sum(np.abs(shares), axis=0) / 2

    sides = tuple(np.array([steps.index(step) for step in side], dtype=float) for side in (a, b))
    test = stats.permutation_test(
        sides, distance, permutation_type="independent", alternative="greater", vectorized=True,
        n_resamples=n_resamples, rng=1,
    )
    return float(test.pvalue)
