"""A Hessian-free step with its batch spread over eight devices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ostinato

SHARDED = """
import dataclasses
import jax
import jax.numpy as jnp
import numpy as np
from jax.random import key
from ostinato.cells import LSTM
from ostinato.data import Batch
from ostinato.learning import Damping, HessianFree, Objective, SaddleFree
from ostinato.runs.loop.step import over_devices
from ostinato.losses import SquaredError
from ostinato.tasks import Adding
from ostinato.wiring import Network, Readout

jax.config.update("jax_enable_x64", True)
network = Network(LSTM(2, 4, key=key(0)), Readout(4, 1, key=key(1)))
batch = Batch(*(jnp.asarray(x, float) for x in Adding(length=6).batch(0, 32)[:3]))
usual = HessianFree(Objective(SquaredError()), Damping(1.0, 0.3), curvature=16, iterations=6)
for learner in (
    usual,
    dataclasses.replace(usual, chunk=8),
    dataclasses.replace(usual, line_search=True, iterations=3),
    SaddleFree(Objective(SquaredError()), count=5, curvature=16),
):
    step = jax.jit(learner.step)
    state = network.initial((32,))
    alone = step(network, learner.initial(network), state, batch)
    spread = over_devices(8)(batch, state)
    assert [x.data.shape for x in spread[0].inputs.addressable_shards] == [(6, 4, 2)] * 8
    compiled = step.lower(network, learner.initial(network), spread[1], spread[0]).compile()
    together = compiled(network, learner.initial(network), spread[1], spread[0])
    for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        error = np.linalg.norm(np.subtract(one, other, dtype=float))
        assert error <= 1e-8 * max(1, np.linalg.norm(other)), (type(learner), error)
    text = compiled.as_text()
    assert "all-reduce" in text and "f64[6,32,16]" not in text, "no device has the whole batch"
print("done")
"""


@pytest.mark.slow
def test_eight_devices_do_what_one_does():
    environment = os.environ | {
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(Path(ostinato.__file__).parents[1]),
    }
    result = subprocess.run(
        [sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "done\n"
