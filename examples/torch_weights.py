"""Weights from torch: the same outputs, and then everything that Ostinato has.

python examples/torch_weights.py    (needs torch)
"""

import jax.numpy as jnp
import numpy as np
import torch

from ostinato import count_parameters, unroll
from ostinato.wiring import from_torch

torch.manual_seed(0)
theirs = torch.nn.LSTM(3, 16, num_layers=2)
ours = from_torch(theirs)
print(f"{type(ours).__name__} with {count_parameters(ours):,} parameters")

xs = np.random.default_rng(0).normal(size=(50, 4, 3)).astype(np.float32)
with torch.no_grad():
    expected, _ = theirs(torch.from_numpy(xs))
found, _ = unroll(ours, jnp.asarray(xs))
print(f"largest difference of the outputs: {np.abs(found - expected.numpy()).max():.1e}")
