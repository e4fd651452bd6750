"""A task of your own: is a bracket still open? Check it, and learn it.

python examples/own_task.py
ostinato train --task examples/own_task.py:Brackets --cell gru
"""

import tempfile

import numpy as np

from ostinato import Batch, Config, evaluate, train
from ostinato.losses import CrossEntropy
from ostinato.metrics import Accuracy
from ostinato.tasks import Task
from ostinato.testing import check_task


class Brackets(Task):
    """Symbols 0 = "(" and 1 = ")"; at each step, are there more of "(" so far than of ")"?"""

    name = "brackets"
    symbolic = True
    inputs, outputs, length = 2, 2, 12
    loss, metrics = CrossEntropy(), (Accuracy(),)
    places = {"valid": 1, "test": 2}  # noqa: RUF012

    def __init__(self, seed=0):
        self.seed = seed
        targets = self.batch(0, 10_000).targets
        self.chance = max(targets.mean(), 1 - targets.mean())

    def draw(self, rng, size, length):
        symbols = rng.integers(0, 2, (length, size), dtype=np.int32)
        open_now = np.cumsum(1 - 2 * symbols, axis=0) > 0
        return Batch(symbols, open_now.astype(np.int32), np.ones((length, size), np.float32))

    def batch(self, index, size, length=None):
        return self.draw(np.random.default_rng([self.seed, 0, index]), size, length or self.length)

    def held_out(self, part, size):
        rng = np.random.default_rng([self.seed, self.places[part]])
        whole = self.draw(rng, 256, self.length)
        for begin in range(0, 256, size):
            yield whole.take(slice(begin, begin + size))


if __name__ == "__main__":
    task = Brackets()
    print(f"check_task: {len(check_task(task))} checks passed")
    with tempfile.TemporaryDirectory() as folder:
        config = Config(cell="gru", units=16, steps=300, rate=0.01)
        run = train(config, folder, task=task)
        accuracy = evaluate(run, "test", task=task)["accuracy"]
    print(f"accuracy {accuracy:.2f}, chance {task.chance:.2f}")
