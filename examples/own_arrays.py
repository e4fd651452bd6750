"""Your own arrays: classify sequences of different lengths, and forecast a series.

python examples/own_arrays.py
"""

import tempfile

import numpy as np

from ostinato import Config, evaluate, train
from ostinato.tasks import Arrays, Series

rng = np.random.default_rng(0)

# 300 noisy waves of 20 to 40 steps: which of three frequencies?
lengths = rng.integers(20, 41, 300)
labels = rng.integers(0, 3, 300)
frequencies = np.array([0.3, 0.5, 0.8])[labels]
waves = [
    np.sin(f * np.arange(n) + rng.uniform(0, 6))[:, None] + 0.2 * rng.normal(size=(n, 1))
    for f, n in zip(frequencies, lengths, strict=True)
]
task = Arrays(waves, labels)

with tempfile.TemporaryDirectory() as folder:
    config = Config(cell="lstm", units=16, batch=32, steps=150, rate=0.01)
    run = train(config, f"{folder}/waves", task=task)
    accuracy = evaluate(run, "test", task=task)["accuracy"]
    print(f"accuracy on the test part: {accuracy:.2f}, chance {task.chance:.2f}")

    # A series of two columns: forecast three steps of the first.
    time = np.arange(1000)
    series = np.stack([np.sin(time / 4) + 0.1 * rng.normal(size=1000), np.cos(time / 4)], axis=1)
    forecast = Series(series, targets=[0], names=["height", "slope"], horizon=3, length=25)
    run = train(config, f"{folder}/series", task=forecast)
    error = evaluate(run, "test", task=forecast)[forecast.metric.name]
    print(f"{forecast.metric.name} {error:.3f}, baselines {forecast.baselines()}")
