"""Train a forecaster of a sensor and write it for an Arduino Uno, with weights of 8 bits.

    python examples/arduino/make.py        # writes forecaster/heat.h and forecaster/scaling.h

The readings are those of a thermometer at an analogue input, one an hour; here they are generated.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from ostinato import Config, train
from ostinato.export import export_run
from ostinato.tasks import Series

SKETCH = Path(__file__).parent / "forecaster"


def readings(hours=2000):
    """Warm days and cold nights, in steps of the converter, from 0 to 1023."""
    time, rng = np.arange(hours), np.random.default_rng(0)
    heat = 512 + 200 * np.sin(2 * np.pi * time / 24) + rng.normal(scale=15, size=hours)
    return np.clip(np.round(heat), 0, 1023)


def make(sketch, folder, steps=400, bits=8):
    """Write the headers into the folder of the sketch; gives the run, which is in `folder`."""
    task = Series(readings(), names=["reading"], horizon=1, length=48)
    config = Config(cell="gru", units=8, batch=8, steps=steps, rate=0.01)
    run = train(config, Path(folder) / "run", task=task)
    header, _ = export_run(run, "c", Path(folder) / "heat", bits=bits)
    about = Series.interface(run.config.task.settings, run.artefacts).about
    scaling = [
        f"#define {name.upper()} {about[name][0]!r}f"
        for name in ("shift", "factor", "target_shift", "target_factor")
    ]
    (Path(sketch) / "heat.h").write_text(header.read_text())
    (Path(sketch) / "scaling.h").write_text("\n".join([*scaling, ""]))
    return run


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run = make(SKETCH, folder, *map(int, sys.argv[1:]))
        error = run.evaluate("test")
        print(", ".join(f"{name} {value:.4g}" for name, value in error.items()))
