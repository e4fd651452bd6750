"""The same trained model on another device: how far its logits and its sample differ.

    python benchmarks/devices.py RUN write FILE      on one machine
    python benchmarks/devices.py RUN compare FILE    on the other

Logits are those of the first 1,000 symbols of the run's own vocabulary in a fixed random order of
seed 0, in full float32; the sample is 200 symbols at temperature 0.8.
"""

import sys

import jax
import numpy as np

import ostinato
from ostinato.decoding import sample
from ostinato.runs import open_run


def measured(path: str) -> dict[str, np.ndarray]:
    jax.config.update("jax_default_matmul_precision", "highest")
    run = open_run(path)
    network = run.network()
    symbols = np.random.default_rng(0).integers(0, run.sizes.inputs, 1000).astype(np.int32)
    logits, _ = ostinato.unroll(network, symbols)
    pieces = sample(network, symbols[:1], 200, key=jax.random.key(0), temperature=0.8)
    return {"logits": np.asarray(logits), "sample": np.concatenate([*pieces])}


def main(run: str, what: str, file: str) -> None:
    found = measured(run)
    print(f"{jax.devices()[0].device_kind}: {found['logits'].shape} logits")
    if what == "write":
        np.savez(file, **found)
        return
    with np.load(file) as other:
        error = np.abs(found["logits"] - other["logits"]).max()
        same = int(np.argmin(np.append(found["sample"] == other["sample"], False)))
    size = np.abs(found["logits"]).max()
    print(f"largest difference of logits {error:.2e} (largest logit {size:.1f})")
    print(f"samples agree in their first {same} of {len(found['sample'])} symbols")


if __name__ == "__main__":
    main(*sys.argv[1:])
