"""The functions of this folder's programs in JAX; started by ../gradients.py, which asks for times.

usage: theirs.py FAMILY/ENTRY DATA TYPES     commands: primal, gradient, compare FILE
"""
import functools
import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np


# ---- chain

def chain(a, b, c):
    return jnp.sum((a @ (b @ c)) ** 2)


# ---- logistic

def binary(w, b, xss, ys):
    return jnp.mean(jnp.log(1 + jnp.exp(-ys * (xss @ w + b))))


def penalty(w, b, xss, ys):
    return jnp.mean(jnp.log1p(jnp.exp(-ys * (xss @ w + b)))) + 0.01 * jnp.sum(w * w)


def softmax(w, xss, ls):
    scores = xss @ w.T
    return jnp.mean(jax.nn.logsumexp(scores, axis=1) - jnp.take_along_axis(scores, ls[:, None], axis=1)[:, 0])


# ---- kmeans

def kmeans(centres, points):
    distances = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return jnp.sum(jnp.min(distances, axis=1))


# ---- black_scholes

def by_erf(x):
    return 0.5 * (1 + jax.scipy.special.erf(x / np.float32(np.sqrt(2))))


def by_polynomial(x):
    k = 1 / (1 + 0.2316419 * jnp.abs(x))
    total = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228 * jnp.exp(-0.5 * x * x) * total
    return jnp.where(x < 0, tail, 1 - tail)


def prices(cdf, s, k, t, r, v):
    d1 = (jnp.log(s / k) + (r + v * v / 2) * t) / (v * jnp.sqrt(t))
    d2 = d1 - v * jnp.sqrt(t)
    return jnp.sum(s * cdf(d1) - k * jnp.exp(-r * t) * cdf(d2))


# ---- nbody

def energy(xs, ys, zs, ms):
    squares = sum((a[:, None] - a[None, :]) ** 2 for a in (xs, ys, zs))
    return -jnp.sum(ms[:, None] * ms[None, :] / jnp.sqrt(squares + 0.01)) / 2


def energy_of_rows(ps, ms):
    return energy(ps[:, 0], ps[:, 1], ps[:, 2], ms)


# ---- lstm

def lstm_step(w, u, b, c, y, x):
    sums = jnp.einsum("ghd,...d->g...h", w, x) + jnp.einsum("ghk,...k->g...h", u, y)
    i, f, o = (jax.nn.sigmoid(sums[gate] + b[gate]) for gate in range(3))
    c = f * c + i * jnp.tanh(sums[3] + b[3])
    return c, o * jnp.tanh(c)


def sequence(w, u, b, xs, targets):
    def step(state, now):
        c, y = lstm_step(w, u, b, *state, now[0])
        return (c, y), jnp.sum((y - now[1]) ** 2)
    none = jnp.zeros(targets.shape[1:], targets.dtype)
    return jnp.sum(jax.lax.scan(step, (none, none), (xs, targets))[1])


def batch(w, u, b, xs, targets):
    none = jnp.zeros_like(targets)
    (_, ys), _ = jax.lax.scan(lambda state, x: (lstm_step(w, u, b, *state, x), None), (none, none), xs)
    return jnp.sum((ys - targets) ** 2)


def squares(u):
    return jnp.sum(u * u)


def repeated(step, state, t):
    return jax.lax.scan(lambda state, _: (step(state), None), state, None, length=t)[0]


def heat(u, t):
    def step(u):
        return u.at[1:-1].add(0.1 * (u[:-2] - 2 * u[1:-1] + u[2:]))
    return squares(repeated(step, u, t))


def waves(u, t):
    def step(state):
        u, v = state
        p = jnp.pad(u, 1)
        v = v + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)
        return u + v, v
    return squares(repeated(step, (u, jnp.zeros_like(u)), t)[0])


def ring(u, t):
    def speed(u):
        return (jnp.roll(u, -1) - u) * jnp.roll(u, 1) - u

    def step(u):
        a = speed(u)
        b = speed(u + 0.005 * a)
        c = speed(u + 0.005 * b)
        d = speed(u + 0.01 * c)
        return u + 0.01 / 6 * (a + 2 * b + 2 * c + d)
    return squares(repeated(step, u, t))


def convolution(xs, w):
    out = jax.lax.conv(xs[None, None], w[None, None], (1, 1), "VALID")
    return jnp.sum(jax.nn.relu(out))


def lines(xs, w):
    return jnp.sum(jax.nn.relu(jax.lax.conv(xs[None], w, (1,), "VALID")))


def heads(qs, ks, vs):
    weights = jax.nn.softmax(qs @ ks.T / jnp.sqrt(1.0 * qs.shape[1]), axis=1)
    return squares(weights @ vs)


# Of each entry point the function, and which of the entry's parameters it takes in which order; how many of
# them, from the first on, it is differentiated by.
FUNCTIONS = {
    "chain/dots": (chain, (0, 1, 2), 3), "chain/index": (chain, (0, 1, 2), 3), "chain/loops": (chain, (0, 1, 2), 3),
    "logistic/binary": (binary, (2, 3, 0, 1), 2), "logistic/penalty": (penalty, (2, 3, 0, 1), 2),
    "logistic/softmax": (softmax, (2, 0, 1), 1),
    "kmeans/minimum": (kmeans, (1, 0), 1), "kmeans/matrix": (kmeans, (1, 0), 1), "kmeans/loops": (kmeans, (1, 0), 1),
    "black_scholes/erf": (functools.partial(prices, by_erf), (0, 1, 2, 3, 4), 5),
    "black_scholes/polynomial": (functools.partial(prices, by_polynomial), (0, 1, 2, 3, 4), 5),
    "nbody/columns": (energy, (1, 2, 3, 0), 3), "nbody/rows": (energy_of_rows, (1, 0), 1),
    "nbody/pairs": (energy, (1, 2, 3, 0), 3),
    "lstm/sequence": (sequence, (2, 3, 4, 0, 1), 3), "lstm/batch": (batch, (2, 3, 4, 0, 1), 3),
    "grids/heat": (heat, (1, 0), 1), "grids/waves": (waves, (1, 0), 1), "grids/ring": (ring, (1, 0), 1),
    "networks/convolution": (convolution, (0, 1), 2), "networks/lines": (lines, (0, 1), 2),
    "networks/heads": (heads, (0, 1, 2), 3),
}
TYPES = {b" f32": np.float32, b" f64": np.float64, b" i64": np.int64}


def read_values(path):
    """The values in a file of binary ones: b, 2, rank, type, shape, elements."""
    data, at, values = open(path, "rb").read(), 0, []
    while at < len(data):
        rank, kind = data[at + 2], TYPES[data[at + 3:at + 7]]
        shape = np.frombuffer(data, np.int64, rank, at + 7)
        at += 7 + 8 * rank
        count = int(np.prod(shape))
        values.append(np.frombuffer(data, kind, count, at).reshape(shape))
        at += count * np.dtype(kind).itemsize
    return values


def difference(got, expected):
    return max(float(np.max(np.abs(a - np.asarray(b))) / max(1e-30, np.max(np.abs(b)))) for a, b in zip(got, expected))


def timed(function, arguments):
    start = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    return 1e6 * (time.perf_counter() - start)


def main():
    function, order, count = FUNCTIONS[sys.argv[1]]
    values = read_values(sys.argv[2])
    assert len(values) == len(json.loads(sys.argv[3]))
    arguments = [jnp.asarray(values[i]) if values[i].ndim else int(values[i]) for i in order]
    known = [k for k, argument in enumerate(arguments) if isinstance(argument, int)]  # of rounds
    gradient = jax.grad(function, tuple(range(count)))
    commands = {"primal": jax.jit(function, static_argnums=known), "gradient": jax.jit(gradient, static_argnums=known)}
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "compare":
            print(difference(read_values(rest), commands["gradient"](*arguments)), flush=True)
        else:
            print(timed(commands[word], arguments), flush=True)


if __name__ == "__main__":
    main()
