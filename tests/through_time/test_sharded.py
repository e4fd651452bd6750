"""A batch that eight devices share, in a process of its own: JAX counts its devices only once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def found():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("eight_devices.py")],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("place", ["inside", "around"])
def test_shard_map_with_checked_axes_gives_what_one_device_gives(found, place):
    """With the default `check_vma=True`; float32 is what "lower precision" computes in."""
    distances = found[place == "around"]
    bounds = dict.fromkeys(distances, 1e-12) | {"lower precision": 1e-5}
    assert {name: far for name, far in distances.items() if far > bounds[name]} == {}


@pytest.mark.parametrize("mesh", ["Auto", "Explicit"])
def test_the_gradient_of_a_shared_batch_is_one_sum_over_devices(found, mesh):
    """Weights' gradients are summed; no activation moves between devices."""
    assert found[2][mesh] == {"all-reduce": 1}
