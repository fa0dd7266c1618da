"""Sequential minimal optimisation: the dual problem of a support vector machine, two coefficients at a time.

Platt, "Fast Training of Support Vector Machines using Sequential Minimal Optimization" (1998); the pair is chosen as in
Fan, Chen, Lin, "Working Set Selection Using Second Order Information for Training Support Vector Machines" (2005).
"""

from typing import Any

import numpy as np

from proxcode.utils.jit import kernel, subroutine

# Smaller than any value, and finite.
NEVER = -1e30
# Smallest curvature along which a step is taken, as in libsvm: equal samples have none.
FLAT = 1e-12
# A maximum is found in blocks of this size, so that the search for its place is short.
BLOCK = 512


@kernel
def optimise(K: Any, target: Any, C: float, tolerance: float, alpha: Any, errors: Any, max_steps: int) -> Any:
    """Take steps from the present coefficients; return the number of steps and the intercept.

    Fewer steps than `max_steps` means that no pair violates the optimality conditions by more than `tolerance`.

    Parameters
    ----------
    K : ndarray of float32, shape (n, n)
        Kernel values; the diagonal is 1.
    target : ndarray of int8, shape (n,)
        -1 or +1.
    C : float
        Largest coefficient.
    tolerance : float
    alpha : ndarray of float64, shape (n,)
        Coefficients, 0 to C; changed in place.
    errors : ndarray of float64, shape (n,)
        Margins without intercept less target: sum_j alpha_j target_j K_ij - target_i; changed in place.
    max_steps : int
    """
    n = len(target)
    # 0 where alpha_i target_i may grow or shrink, else NEVER.
    may_grow, may_shrink = np.empty(n, np.float32), np.empty(n, np.float32)
    for i in range(n):
        _set_bounds(i, target, C, alpha, may_grow, may_shrink)
    i, most = _change_errors(errors, K[0], K[0], 0.0, may_grow)
    steps = 0
    gap = 0.0
    while steps < max_steps:
        j, least = _best_partner(errors, may_shrink, K[i], most)
        gap = most - least
        if gap < tolerance or j < 0:
            break
        curvature = max(2.0 - 2.0 * np.float64(K[i, j]), FLAT)
        room_i = C - alpha[i] if target[i] > 0 else alpha[i]
        room_j = alpha[j] if target[j] > 0 else C - alpha[j]
        step = min((most + errors[j]) / curvature, room_i, room_j)
        alpha[i] += target[i] * step
        alpha[j] -= target[j] * step
        # Rounding must not leave a coefficient next to its bound.
        if step == room_i:
            alpha[i] = C if target[i] > 0 else 0.0
        if step == room_j:
            alpha[j] = 0.0 if target[j] > 0 else C
        _set_bounds(i, target, C, alpha, may_grow, may_shrink)
        _set_bounds(j, target, C, alpha, may_grow, may_shrink)
        i, most = _change_errors(errors, K[i], K[j], step, may_grow)
        steps += 1
    return steps, _intercept(alpha, C, errors, most - gap / 2)


@subroutine
def _set_bounds(i: int, target: Any, C: float, alpha: Any, may_grow: Any, may_shrink: Any) -> None:
    positive = target[i] > 0
    may_grow[i] = 0.0 if (alpha[i] < C if positive else alpha[i] > 0) else NEVER
    may_shrink[i] = 0.0 if (alpha[i] > 0 if positive else alpha[i] < C) else NEVER


@subroutine
def _intercept(alpha: Any, C: float, errors: Any, middle: float) -> float:
    """Return minus the mean error of the coefficients between their bounds; without any, the middle of the gap."""
    total, n_free = 0.0, 0
    for i in range(len(alpha)):
        if 0 < alpha[i] < C:
            total += errors[i]
            n_free += 1
    return -total / n_free if n_free else middle


@subroutine(fastmath=True)
def _change_errors(errors: Any, K_i: Any, K_j: Any, step: float, may_grow: Any) -> Any:
    """Change the errors after a step; return which coefficient that may grow has the lowest error, and minus it."""
    best, block = NEVER, 0
    for start in range(0, len(errors), BLOCK):
        some, values_i, values_j = errors[start : start + BLOCK], K_i[start : start + BLOCK], K_j[start : start + BLOCK]
        for k in range(len(some)):
            some[k] += step * (np.float64(values_i[k]) - np.float64(values_j[k]))
        most = _maximum(some, may_grow[start : start + BLOCK])
        if most > best:
            best, block = most, start
    return _place(errors, may_grow, block), best


@subroutine(fastmath=True)
def _maximum(errors: Any, may_grow: Any) -> float:
    most = NEVER
    for k in range(len(errors)):
        value = may_grow[k] - errors[k]
        most = value if value > most else most
    return most


@subroutine(fastmath=True)
def _place(errors: Any, may_grow: Any, block: int) -> int:
    """Return the place of the maximum within a block."""
    place, most = block, NEVER
    for k in range(block, min(block + BLOCK, len(errors))):
        if may_grow[k] - errors[k] > most:
            place, most = k, may_grow[k] - errors[k]
    return place


@subroutine(fastmath=True)
def _best_partner(errors: Any, may_shrink: Any, K_i: Any, most: float) -> Any:
    """Return the coefficient whose step together with i lowers the dual objective most, -1 if there is none.

    Also returned: minus the largest error of the coefficients that may shrink.
    """
    n, best, block, highest = len(errors), 0.0, -1, NEVER
    for start in range(0, n, BLOCK):
        end = start + BLOCK
        gain, high = _largest_gain(errors[start:end], may_shrink[start:end], K_i[start:end], most)
        if gain > best:
            best, block = gain, start
        highest = max(highest, high)
    place, most_gain = -1, 0.0
    if block >= 0:
        for k in range(block, min(block + BLOCK, n)):
            gain = _gain(most + errors[k] + may_shrink[k], K_i[k])
            if gain > most_gain:
                place, most_gain = k, gain
    return place, -highest


@subroutine(fastmath=True)
def _largest_gain(errors: Any, may_shrink: Any, K_i: Any, most: float) -> Any:
    largest, highest = 0.0, NEVER
    for k in range(len(errors)):
        error = errors[k] + may_shrink[k]
        highest = error if error > highest else highest
        gain = _gain(most + error, K_i[k])
        largest = gain if gain > largest else largest
    return largest, highest


@subroutine(fastmath=True)
def _gain(difference: float, value: float) -> float:
    """Return how much the best step lowers the objective, twice; 0 where a step would raise it."""
    difference = difference if difference > 0.0 else 0.0
    curvature = 2.0 - 2.0 * np.float64(value)
    return difference * difference / (curvature if curvature > FLAT else FLAT)
