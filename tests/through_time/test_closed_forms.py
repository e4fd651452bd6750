"""`unroll` and its derivatives against the closed forms that the documents publish.

Each reference is written as its document prints it: one sequence, column vectors, `W @ x`, a
loop over time with the document's indices. Arrays have a row of zeros for t = 0 and one for
t = T + 1; they stand for what "if t > 1" and the end of the sequence leave out.
"""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ostinato
from ostinato.cells import MLSTM, KrauseLSTM, PeepholeLSTM, Simple

INPUTS, UNITS, OUTPUTS, STEPS, BATCH = 3, 4, 5, 6, 2


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softmax(a):
    return np.exp(a) / np.exp(a).sum(axis=-1, keepdims=True)


def plain(tree):
    return jax.tree.map(np.asarray, tree)


def padded(rows):
    return np.pad(rows, ((1, 1), (0, 0)))


def zeros(*names):
    return SimpleNamespace(**{name: np.zeros((STEPS + 2, UNITS)) for name in names})


def outer(a, b, late=0):
    """The sum of `a(t) b(t - late)^T` over t = 1 ... T."""
    return sum(np.outer(a[t], b[t - late]) for t in range(1, STEPS + 1))


# Delgado del Cerro (2021)


def rnn_001(w, x, y1, xi):
    """Delgado del Cerro (2021) (2.5), (2.8-2.11), with `e = |y - xi|^2 / 2` as in section 3.3.

    Its `y(t) = sigma(c(t-1))`: y(1) is given, and x(1) ... x(T-1) lead to y(2) ... y(T). The
    gradient of y(1) is chi(1).
    """
    x, xi, s = padded(x), padded(xi), zeros("c", "y", "psi", "chi")
    s.y[1] = y1
    for t in range(1, STEPS):
        s.c[t] = w["R"] @ s.y[t] + w["W"] @ x[t]  # (2.5)
        s.y[t + 1] = np.tanh(s.c[t])
    for t in range(STEPS, 0, -1):
        s.psi[t] = s.chi[t + 1] * (1 - np.tanh(s.c[t]) ** 2)  # (2.9)
        s.chi[t] = s.y[t] - xi[t] + s.psi[t] @ w["R"]  # (2.8)
    # psi(T) = 0, so that the sums of (2.10) and (2.11), to T - 1, may as well go to T.
    return {"R": outer(s.psi, s.y), "W": outer(s.psi, x), "y(1)": s.chi[1]}


def lstm_001(w, x, y0, c0, xi):
    """Delgado del Cerro (2021) (4.1-4.5) and section 4.2, (4.6-4.14), with g = h = tanh.

    Here x(0) ... x(T-1) lead to y(1) ... y(T). The gradients of y(0) and c(0) are phi_y(1) and
    phi_c(1).

    Misprint: (4.13) has R where the chain rule gives R^T. Section 4.3 holds that the equations of
    section 4.2 are not exact, for they leave out indirect dependencies; but those are in delta y
    and delta c, and with R^T the equations are the gradient.
    """
    x, xi, s = np.pad(x, ((0, 2), (0, 0))), padded(xi), zeros(*"zifocy")
    s.y[0], s.c[0] = y0, c0
    for t in range(1, STEPS + 1):
        bar = {k: w["W", k] @ x[t - 1] + w["R", k] @ s.y[t - 1] for k in "zifo"}
        s.z[t] = np.tanh(bar["z"])  # (4.1)
        s.i[t] = sigmoid(bar["i"] + w["p", "i"] * s.c[t - 1])  # (4.2)
        s.f[t] = sigmoid(bar["f"] + w["p", "f"] * s.c[t - 1])  # (4.3)
        s.c[t] = s.i[t] * s.z[t] + s.f[t] * s.c[t - 1]  # (4.5)
        s.o[t] = sigmoid(bar["o"] + w["p", "o"] * s.c[t])  # (4.4)
        s.y[t] = s.o[t] * np.tanh(s.c[t])  # (4.5)
    d = zeros(*"zifocy", "phi_c", "phi_y")  # z, i, f and o are those with a bar
    for t in range(STEPS, 0, -1):
        d.y[t] = s.y[t] - xi[t] + d.phi_y[t + 1]  # (4.14)
        d.o[t] = s.o[t] * (1 - s.o[t]) * np.tanh(s.c[t]) * d.y[t]  # (4.7)
        d.c[t] = d.y[t] * s.o[t] * (1 - np.tanh(s.c[t]) ** 2)  # (4.12)
        d.c[t] += w["p", "o"] * d.o[t] + d.phi_c[t + 1]
        d.i[t] = s.i[t] * (1 - s.i[t]) * s.z[t] * d.c[t]
        d.f[t] = s.f[t] * (1 - s.f[t]) * s.c[t - 1] * d.c[t]
        d.z[t] = (1 - s.z[t] ** 2) * s.i[t] * d.c[t]  # (4.8)
        d.phi_c[t] = w["p", "i"] * d.i[t] + w["p", "f"] * d.f[t] + s.f[t] * d.c[t]  # (4.11)
        d.phi_y[t] = sum(w["R", k].T @ vars(d)[k][t] for k in "zifo")  # (4.13)
    gradients = {"y(0)": d.phi_y[1], "c(0)": d.phi_c[1]}
    gradients |= {("W", k): outer(vars(d)[k], x, late=1) for k in "zifo"}  # (4.6)
    gradients |= {("R", k): outer(vars(d)[k], s.y, late=1) for k in "zifo"}
    gradients |= {("p", k): (vars(d)[k][1:] * s.c[:-1]).sum(axis=0) for k in "if"}
    return gradients | {("p", "o"): (d.o * s.c).sum(axis=0)}


# Krause (2015). I(t) is called x, and `w["omega", "h"]` is the W with the indices omega and h.
# (2.4), and "set dE/dO = O - gamma" in the appendix, name two things O: on the left it is the
# input of the softmax, here out, and on the right its output.


def rnn_names(model):
    cell, V = plain(model)
    return {("h", "i"): cell.W.T, ("h", "h"): cell.R.T, "B": cell.b, ("o", "h"): V.T}


def rnn_forward(w, x):
    """Krause (2015) (2.1), algorithm 1."""
    s = SimpleNamespace(x=padded(x), H_out=zeros("H").H)
    for t in range(1, STEPS + 1):
        s.H_out[t] = np.tanh(w["B"] + w["h", "i"] @ s.x[t] + w["h", "h"] @ s.H_out[t - 1])
    return s, s.H_out[1:-1] @ w["o", "h"].T


def rnn_r_forward(w, v, s):
    """Krause (2015), algorithm 4; R(W) is v."""
    r = zeros("H_out")
    for t in range(1, STEPS + 1):
        r.H_out[t] = v["B"] + v["h", "i"] @ s.x[t] + v["h", "h"] @ s.H_out[t - 1]
        r.H_out[t] += w["h", "h"] @ r.H_out[t - 1]
        r.H_out[t] *= 1 - s.H_out[t] * s.H_out[t]
    return (s.H_out @ v["o", "h"].T + r.H_out @ w["o", "h"].T)[1:-1]


def rnn_backward(w, s, d_out):
    """Krause (2015) (2.5-2.9), and the gradient of B_h, which it leaves out."""
    d_out, d = padded(d_out), zeros("H_in", "H_out")
    for t in range(STEPS, 0, -1):
        d.H_out[t] = w["o", "h"].T @ d_out[t] + w["h", "h"].T @ d.H_in[t + 1]  # (2.6)
        d.H_in[t] = d.H_out[t] * (1 - s.H_out[t] * s.H_out[t])  # (2.7)
    gradients = {("o", "h"): outer(d_out, s.H_out), "B": d.H_in.sum(axis=0)}  # (2.5)
    gradients["h", "h"] = outer(d.H_in, s.H_out, late=1)  # (2.8)
    return gradients | {("h", "i"): outer(d.H_in, s.x)}  # (2.9)


# The LSTM and the multiplicative LSTM of Krause (2015) are one reference. They differ in what the
# gates and H_in, below h, read in place of M: the LSTM reads M(t) = H_out(t-1).

GATES = ("omega", "phi", "h", "rho")  # in the order of the blocks of `W` and `R`


def lstm_names(model):
    cell, V = plain(model)
    w = {("o", "h"): V.T}
    w |= {(k, "i"): a for k, a in zip(GATES, np.split(cell.W.T, 4), strict=True)}
    w |= {(k, "m"): a for k, a in zip(GATES, np.split(cell.R.T, 4), strict=True)}
    return w | ({("m", "i"): cell.Wm.T, ("m", "h"): cell.Rm.T} if hasattr(cell, "Wm") else {})


def lstm_forward(w, x):
    """Krause (2015), algorithms 2 and 7 (which does not set its M(1); it is zero)."""
    s = zeros(*GATES, "H_state", "H_out", "M", "chi", "xi")
    s.x = padded(x)
    for t in range(1, STEPS + 1):
        if ("m", "h") in w:
            s.chi[t], s.xi[t] = w["m", "i"] @ s.x[t], w["m", "h"] @ s.H_out[t - 1]
            s.M[t] = s.chi[t] * s.xi[t]
        else:
            s.M[t] = s.H_out[t - 1]
        for k in GATES:
            a = w[k, "i"] @ s.x[t] + w[k, "m"] @ s.M[t]
            vars(s)[k][t] = a if k == "h" else sigmoid(a)
        s.H_state[t] = s.phi[t] * s.H_state[t - 1] + s.omega[t] * s.h[t]
        s.H_out[t] = np.tanh(s.H_state[t] * s.rho[t])
    return s, s.H_out[1:-1] @ w["o", "h"].T


def lstm_r_forward(w, v, s):
    """Krause (2015), appendix 7.1 (7.1-7.8) and 7.3 (7.28-7.36).

    Misprint: (7.2-7.4) and (7.30-7.32) are R of the inputs of the gates, but (7.5-7.6) and
    (7.33-7.34) use them as R of the gates. Between them belongs the derivative of the sigmoid, by
    (3.22).
    """
    r = zeros(*GATES, "H_state", "H_out", "M")
    for t in range(1, STEPS + 1):
        if ("m", "h") in w:
            r.M[t] = (v["m", "i"] @ s.x[t]) * (w["m", "h"] @ s.H_out[t - 1])  # (7.28)
            r_xi = v["m", "h"] @ s.H_out[t - 1] + w["m", "h"] @ r.H_out[t - 1]
            r.M[t] += (w["m", "i"] @ s.x[t]) * r_xi
        else:
            r.M[t] = r.H_out[t - 1]
        for k in GATES:  # (7.1-7.4), (7.29-7.32)
            a = v[k, "i"] @ s.x[t] + v[k, "m"] @ s.M[t] + w[k, "m"] @ r.M[t]
            gate = vars(s)[k][t]
            vars(r)[k][t] = a if k == "h" else a * gate * (1 - gate)  # (3.22)
        r.H_state[t] = s.h[t] * r.omega[t] + r.h[t] * s.omega[t]  # (7.5), (7.33)
        r.H_state[t] += r.phi[t] * s.H_state[t - 1] + s.phi[t] * r.H_state[t - 1]
        r_zeta = r.H_state[t] * s.rho[t] + s.H_state[t] * r.rho[t]  # (7.6), (7.34)
        r.H_out[t] = r_zeta * (1 - s.H_out[t] * s.H_out[t])  # (7.7), (7.35)
    return (r.H_out @ w["o", "h"].T + s.H_out @ v["o", "h"].T)[1:-1]  # (7.8), (7.36)


def lstm_backward(w, s, d_out):
    """Krause (2015), appendix 7.2 (7.9-7.27) and 7.4 (7.37-7.60)."""
    d_out, d = padded(d_out), zeros(*GATES, "H_state", "H_out", "M", "chi", "xi")
    for t in range(STEPS, 0, -1):
        later = w["m", "h"].T @ d.xi[t + 1] if ("m", "h") in w else d.M[t + 1]
        d.H_out[t] = w["o", "h"].T @ d_out[t] + later  # (7.10), (7.43)
        d_zeta = d.H_out[t] * (1 - s.H_out[t] * s.H_out[t])  # (7.11), (7.44)
        d_rho_out = d_zeta * s.H_state[t]  # (7.12), (7.45)
        d.H_state[t] = d_zeta * s.rho[t] + s.phi[t + 1] * d.H_state[t + 1]  # (7.13), (7.46)
        d_phi_out = s.H_state[t - 1] * d.H_state[t]  # (7.14), (7.47)
        d_omega_out = s.h[t] * d.H_state[t]  # (7.15), (7.48)
        d.h[t] = s.omega[t] * d.H_state[t]  # (7.16), (7.49)
        d.omega[t] = d_omega_out * s.omega[t] * (1 - s.omega[t])  # (7.17), (7.50)
        d.phi[t] = d_phi_out * s.phi[t] * (1 - s.phi[t])  # (7.18), (7.51)
        d.rho[t] = d_rho_out * s.rho[t] * (1 - s.rho[t])  # (7.19), (7.52)
        d.M[t] = sum(w[k, "m"].T @ vars(d)[k][t] for k in GATES)  # in (7.10); (7.38)
        d.chi[t], d.xi[t] = d.M[t] * s.xi[t], d.M[t] * s.chi[t]  # (7.39), (7.40)
    gradients = {("o", "h"): outer(d_out, s.H_out)}  # (7.9), (7.37)
    gradients |= {(k, "m"): outer(vars(d)[k], s.M) for k in GATES}  # (7.20-7.23), (7.53-7.56)
    gradients |= {(k, "i"): outer(vars(d)[k], s.x) for k in GATES}  # (7.24-7.27), (7.57-7.60)
    if ("m", "h") in w:
        gradients["m", "h"] = outer(d.xi, s.H_out, late=1)  # (7.41)
        gradients["m", "i"] = outer(d.chi, s.x)  # (7.42)
    return gradients


# The checks

RNN = (rnn_names, rnn_forward, rnn_r_forward, rnn_backward)
LSTM = (lstm_names, lstm_forward, lstm_r_forward, lstm_backward)
REFERENCES = {Simple: RNN, KrauseLSTM: LSTM, MLSTM: LSTM}
of_document_004 = pytest.mark.parametrize("kind", REFERENCES)


def random(seed, like, scale=0.7):
    """A pytree of normal numbers, so that no bias is zero and no gate is nearly linear."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda a: jnp.asarray(scale * rng.normal(size=a.shape)), like)


def setting(kind):
    """A cell with a readout, a direction in their parameters, inputs and targets."""
    model = kind(INPUTS, UNITS, key=jax.random.key(0)), np.zeros((UNITS, OUTPUTS))
    xs = random(2, np.zeros((STEPS, BATCH, INPUTS)), scale=1.0)
    targets = np.random.default_rng(3).dirichlet(np.ones(OUTPUTS), size=(STEPS, BATCH))
    return random(0, model), random(1, model), xs, targets


def outputs(model, xs):
    cell, V = model
    hs, _ = ostinato.unroll(cell, xs)
    return hs @ V


def of_each(sequences, reference):
    """The gradients that a reference gives for `(time, batch, ...)`, summed over the batch."""
    found = [reference(*(a[:, n] for a in plain(sequences))) for n in range(BATCH)]
    return {name: sum(gradients[name] for gradients in found) for name in found[0]}


def agree(ours, published):
    assert ours.keys() == published.keys()
    for name, value in published.items():
        assert ours[name].shape == value.shape
        error = np.abs(ours[name] - value).max() / np.abs(value).max()
        assert error <= 1e-10, f"{name}: relative error {error:.1e}"


@of_document_004
def test_gradient_of_cross_entropy(kind):
    names, forward, _, backward = REFERENCES[kind]
    model, _, xs, targets = setting(kind)
    w = names(model)

    def loss(model):
        return -jnp.sum(targets * jax.nn.log_softmax(outputs(model, xs)))

    def published(x, target):
        s, out = forward(w, x)
        return backward(w, s, softmax(out) - target)  # (2.4)

    agree(names(jax.jit(jax.grad(loss))(model)), of_each((xs, targets), published))


@of_document_004
def test_r_forward_pass(kind):
    names, forward, r_forward, _ = REFERENCES[kind]
    model, v, xs, _ = setting(kind)
    w, direction = names(model), names(v)
    out, r_out = jax.jvp(lambda model: outputs(model, xs), (model,), (v,))
    for n in range(BATCH):
        s, published = forward(w, plain(xs)[:, n])
        r_published = r_forward(w, direction, s)
        agree({"O": out[:, n], "R(O)": r_out[:, n]}, {"O": published, "R(O)": r_published})


@of_document_004
def test_gauss_newton_product(kind):
    """Krause (2015) (3.18), with (3.23) as `(diag(p) - p p^T) r = p * (r - p . r)`."""
    names, forward, r_forward, backward = REFERENCES[kind]
    model, v, xs, _ = setting(kind)
    w, direction = names(model), names(v)

    @jax.jit
    def product(model, v):
        out, r_out = jax.jvp(lambda model: outputs(model, xs), (model,), (v,))
        p = jax.nn.softmax(out)
        d_out = p * (r_out - jnp.sum(p * r_out, axis=-1, keepdims=True))
        return jax.vjp(lambda model: outputs(model, xs), model)[1](d_out)[0]

    def published(x):
        s, out = forward(w, x)
        p, r_out = softmax(out), r_forward(w, direction, s)
        return backward(w, s, p * (r_out - np.sum(p * r_out, axis=-1, keepdims=True)))

    agree(names(product(model, v)), of_each((xs,), published))


def test_gradient_of_squared_error_rnn():
    cell = random(0, Simple(INPUTS, UNITS, key=jax.random.key(0)))
    cell = eqx.tree_at(lambda cell: cell.b, cell, jnp.zeros(UNITS))
    xs, y1 = random(1, (np.zeros((STEPS - 1, INPUTS)), np.zeros(UNITS)))
    targets = np.random.default_rng(2).normal(size=(STEPS, UNITS))

    def loss(cell, y1):
        ys = jnp.vstack([y1, ostinato.unroll(cell, xs, y1)[0]])
        return 0.5 * jnp.sum((ys - targets) ** 2)

    ours, of_y1 = jax.jit(jax.grad(loss, argnums=(0, 1)))(cell, y1)
    published = rnn_001(plain({"W": cell.W.T, "R": cell.R.T}), *plain((xs, y1)), targets)
    agree({"W": ours.W.T, "R": ours.R.T, "y(1)": of_y1}, published)


def peephole_names(cell):
    cell = plain(cell)
    w = {("W", k): a for k, a in zip("ifzo", np.split(cell.W.T, 4), strict=True)}
    w |= {("R", k): a for k, a in zip("ifzo", np.split(cell.R.T, 4), strict=True)}
    return w | {("p", k): a for k, a in zip("ifo", cell.p, strict=True)}


def test_gradient_of_squared_error_peephole_lstm():
    cell = random(0, PeepholeLSTM(INPUTS, UNITS, key=jax.random.key(0)))
    cell = eqx.tree_at(lambda cell: cell.b, cell, jnp.zeros(4 * UNITS))
    xs, state = random(1, (np.zeros((STEPS, INPUTS)), (np.zeros(UNITS), np.zeros(UNITS))))
    targets = np.random.default_rng(2).normal(size=(STEPS, UNITS))

    def loss(cell, state):
        return 0.5 * jnp.sum((ostinato.unroll(cell, xs, state)[0] - targets) ** 2)

    ours, (of_y0, of_c0) = jax.jit(jax.grad(loss, argnums=(0, 1)))(cell, state)
    published = lstm_001(peephole_names(cell), *plain((xs, *state)), targets)
    agree(peephole_names(ours) | {"y(0)": of_y0, "c(0)": of_c0}, published)
