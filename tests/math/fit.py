#!/usr/bin/env python3
"""Computes the polynomials of runtime/kernels/math/: fit.py [NAME...]

Each polynomial minimises the greatest weighted error on an interval (the exchange algorithm of
Remez, on a fine grid).  Its coefficients are then rounded one after the other, the most important
first; those after it are fitted again around what was rounded.  Needs mpmath.
"""
import pathlib
import sys
from mpmath import mp, mpf

mp.dps = 60


class Fit:
    """A polynomial in `terms` powers (0, 1, ..) near f on [a, b], with the error times `weight`."""

    def __init__(self, f, a, b, count, bits, weight, first=0):
        self.f, self.a, self.b, self.weight = f, mpf(a), mpf(b), weight
        self.count, self.bits, self.first = count, bits, first


def grid(fit):
    """Points that lie denser near the ends, as the extrema do."""
    count = 40 * fit.count
    middle, half = (fit.a + fit.b) / 2, (fit.b - fit.a) / 2
    return [middle - half * mp.cos(mp.pi * (i + mpf(1) / 2) / count) for i in range(count)]


def horner(coefficients, x):
    value = mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def solve(points):
    """The coefficients through the points: sum + (-1)^i * error / weight = f."""
    count = len(points) - 1
    rows, right = mp.matrix(count + 1, count + 1), mp.matrix(count + 1, 1)
    for i, (x, f, w) in enumerate(points):
        for j in range(count):
            rows[i, j] = x**j
        rows[i, count] = (-1) ** i / w
        right[i] = f
    solution = mp.lu_solve(rows, right)
    return [solution[j] for j in range(count)]


def extrema(errors, wanted):
    """Indices of alternating extrema, the `wanted` neighbours with the greatest of them."""
    found = []
    for i, e in enumerate(errors):
        if found and (errors[found[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > wanted:
        if abs(errors[found[0]]) < abs(errors[found[-1]]):
            found.pop(0)
        else:
            found.pop()
    return found


def exchanged(chosen, errors):
    """The reference with the greatest error of all in place of its neighbour of the same sign."""
    worst = max(range(len(errors)), key=lambda i: abs(errors[i]))
    positive = errors[worst] > 0
    after = next((k for k, i in enumerate(chosen) if i >= worst), len(chosen))
    if after < len(chosen) and (errors[chosen[after]] > 0) == positive:
        return chosen[:after] + [worst] + chosen[after + 1 :]
    if after > 0 and (errors[chosen[after - 1]] > 0) == positive:
        return chosen[: after - 1] + [worst] + chosen[after:]
    return [worst] + chosen[:-1] if after == 0 else chosen[1:] + [worst]


def errors_of(samples, coefficients):
    return [(horner(coefficients, x) - f) * w for x, f, w in samples]


def greatest_error(samples, coefficients):
    return max(abs(e) for e in errors_of(samples, coefficients))


def remez(samples, count):
    """The coefficients with the least greatest error.  Several points of the reference are exchanged at
    once in the first rounds; then, from the best of those, one: slow, but without going in circles."""
    size = len(samples)
    chosen = [min(size - 1, (2 * i + 1) * size // (2 * count + 2)) for i in range(count + 1)]
    best, least, reference = None, mp.inf, chosen
    for step in range(80):
        coefficients = solve([samples[i] for i in chosen])
        errors = errors_of(samples, coefficients)
        greatest = max(abs(e) for e in errors)
        if greatest < least:
            best, least, reference = coefficients, greatest, chosen
        if greatest < mpf("1.001") * min(abs(errors[i]) for i in chosen):
            break
        better = extrema(errors, count + 1) if step < 12 else exchanged(chosen, errors)
        chosen = reference if step == 12 or len(better) < count + 1 else better
    return best


def completed(samples, fixed, count):
    """The coefficients after those that are fixed.  What they leave is divided by their power of x, which
    may be negative, so that errors alternate as the exchange expects."""
    power = len(fixed)
    if power == count:
        return fixed
    rest = [(x, (f - horner(fixed, x)) / x**power, w * abs(x) ** power) for x, f, w in samples if x]
    return fixed + remez(rest, count - power)


def candidates(value, bits):
    """The two neighbours of the value among floats of so many bits."""
    scale = bits - mp.frexp(abs(value))[1]
    low = mp.floor(mp.ldexp(value, scale))
    return [mp.ldexp(low, -scale), mp.ldexp(low + 1, -scale)]


def fitted(fit):
    """The rounded coefficients and the greatest weighted error with them."""
    samples = [(x, fit.f(x), abs(fit.weight(x))) for x in grid(fit)]
    best = completed(samples, [], fit.count)
    for i in range(fit.count):
        tried = [completed(samples, best[:i] + [c], fit.count) for c in candidates(best[i], fit.bits)]
        best = min(tried, key=lambda coefficients: greatest_error(samples, coefficients))
    return best, greatest_error(samples, best)


LN2 = mp.log(2)


def exp_tail(r):
    """(e^r - 1 - r) / r^2"""
    return sum(r**k / mp.factorial(k + 2) for k in range(40))


def power_tail(base):
    """(base^r - 1) / r"""
    log = mp.log(base)
    return lambda r: log * sum((r * log) ** k / mp.factorial(k + 1) for k in range(60))


def log_tail(f):
    """(log(1 + f) - f + f^2 / 2) / f^3"""
    if abs(f) < mpf("1e-12"):
        return mpf(1) / 3 - f / 4
    return (mp.log1p(f) - f + f * f / 2) / f**3


def base_tail(base):
    """(log(1 + f) / f - log(e)) / f to a base"""
    return lambda f: (mp.log1p(f) / f - 1) / f / mp.log(base)


def base_weight(base):
    return lambda f: f * f / mp.log1p(f) * mp.log(base)


def atanh_tail(z):
    """(2 atanh(s) - 2 s) / s^3, z = s^2"""
    return sum(2 * z**k / (2 * k + 3) for k in range(100))


def atanh_far_tail(z):
    """(2 atanh(s) - 2 s - 2 s^3 / 3) / s^5, z = s^2"""
    return sum(2 * z**k / (2 * k + 5) for k in range(100))


def log2_ratio(f):
    """log2(1 + f) / f"""
    return mp.log1p(f) / f / LN2


def erf_ratio(z):
    """erf(x) / x - 1, z = x^2"""
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1


def erfc_log2(x):
    """-log2(erfc(x))"""
    return -mp.log(mp.erfc(x)) / LN2


def odd_tail(f):
    """(f(x) - x) / x^3, of z = x^2"""
    return lambda z: (f(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3


def cos_tail(z):
    """(cos(x) - 1 + z / 2) / z^2, z = x^2"""
    return sum((-1) ** k * z**k / mp.factorial(2 * k + 4) for k in range(40))


def odd(f, high, count, bits):
    """The tail of an odd function on [0, high], relative to the function."""
    weight = lambda z: mp.sqrt(z) ** 3 / f(mp.sqrt(z))
    return Fit(odd_tail(f), mpf("1e-30"), mpf(high) ** 2, count, bits, weight)


HALF_LN2 = LN2 / 2 * mpf("1.001")
LOG10_2 = mp.log10(2) / 2 * mpf("1.001")
LOG_LOW, LOG_HIGH = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(mpf(2)) - 1
S_HIGH = LOG_HIGH / (LOG_HIGH + 2)

EIGHTH = mp.pi / 4 * mpf("1.01")


def exp_fit(count, bits):
    return Fit(exp_tail, -HALF_LN2, HALF_LN2, count, bits, lambda r: r**2 / mp.exp(r))


def power_fit(base, half, count, bits):
    return Fit(power_tail(base), -half, half, count, bits, lambda r: r / mpf(base) ** r)


def log_fit(f, count, bits, weight):
    return Fit(f, LOG_LOW, LOG_HIGH, count, bits, weight)


def cos_fit(count, bits):
    return Fit(cos_tail, 0, EIGHTH**2, count, bits, lambda z: z**2 / mp.cos(mp.sqrt(z)))


def erf_fit(count, bits):
    return Fit(erf_ratio, mpf("1e-30"), mpf(1) / 4, count, bits, lambda z: 1 / (1 + erf_ratio(z)))


def erfc_fit(high, count, bits):
    return Fit(erfc_log2, mpf(1) / 2, high, count, bits, lambda x: mp.erfc(x) / mp.erf(x))


FITS = {
    "exp_f32": exp_fit(5, 24),
    "exp_f64": exp_fit(10, 53),
    "exp2_f32": power_fit(2, mpf(1) / 2, 6, 24),
    "exp2_f64": power_fit(2, mpf(1) / 2, 11, 53),
    "exp10_f32": power_fit(10, LOG10_2, 6, 24),
    "exp10_f64": power_fit(10, LOG10_2, 11, 53),
    "log_f32": log_fit(log_tail, 8, 24, lambda f: f**3 / mp.log1p(f)),
    "log2_f32": log_fit(base_tail(2), 9, 24, base_weight(2)),
    "log10_f32": log_fit(base_tail(10), 9, 24, base_weight(10)),
    "log_s_f64": Fit(atanh_tail, 0, S_HIGH**2, 7, 53, lambda z: z / 2),
    "pow_log2_f64": log_fit(log2_ratio, 13, 53, lambda f: 1 / log2_ratio(f)),
    "pow_s_f64": Fit(atanh_far_tail, 0, S_HIGH**2, 7, 53, lambda z: z**2 / 2),
    "sin_f32": odd(mp.sin, EIGHTH, 3, 24),
    "sin_f64": odd(mp.sin, EIGHTH, 6, 53),
    "cos_f32": cos_fit(3, 24),
    "cos_f64": cos_fit(6, 53),
    "tan_f32": odd(mp.tan, EIGHTH, 6, 24),
    "tan_f64": odd(mp.tan, EIGHTH, 14, 53),
    "asin_f32": odd(mp.asin, mpf("0.55"), 5, 24),
    "asin_f64": odd(mp.asin, mpf("0.55"), 13, 53),
    "atan_f32": odd(mp.atan, 1, 9, 24),
    "atan_f64": odd(mp.atan, 1, 20, 53),
    "sinh_f32": odd(mp.sinh, 1, 4, 24),
    "sinh_f64": odd(mp.sinh, 1, 8, 53),
    "tanh_f32": odd(mp.tanh, mpf("0.625"), 5, 24),
    "tanh_f64": odd(mp.tanh, mpf("0.625"), 11, 53),
    "asinh_f32": odd(mp.asinh, 1, 9, 24),
    "atanh_f32": odd(mp.atanh, mpf("0.5"), 6, 24),
    "erf_f32": erf_fit(5, 24),
    "erf_f64": erf_fit(9, 53),
    "erfc_f32": erfc_fit(4, 7, 24),
    "erfc_f64": erfc_fit(6, 19, 53),
}


def shown(value, bits):
    text = mp.nstr(value, 17 if bits == 53 else 9, min_fixed=-6, max_fixed=20)
    return text + ("" if bits == 53 else "f")


def source():
    """The kernels' text."""
    folder = pathlib.Path(__file__).parent / "../../runtime/kernels/math"
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.cl")))


def main():
    text = source()
    for name in sys.argv[1:] or FITS:
        coefficients, error = fitted(FITS[name])
        print(f"{name}: error 2^{mp.nstr(mp.log(error, 2), 5)}")
        for c in coefficients:
            number = shown(c, FITS[name].bits)
            print("  " + number + ("" if number.lstrip("-") in text else "  which the kernels lack"))


if __name__ == "__main__":
    main()
