"""A user's own cells in runs that are trained side by side, a thread each.

All threads must see the same code, and a later change of it must be refused.
"""

from concurrent.futures import ThreadPoolExecutor

from .outcomes import ACCEPTED, Case, Failed, Refused, attempt, check

THREADS, RUNS = 4, 2
BEFORE = (
    "",
    "# class Mine: in a comment\n",
    "TEXT = '''\nclass Mine:\n'''\n",
    "class Other:\n    a = 1\n\n",
)
BASES = ("Simple", "LSTM", "GRU")
INPUTS = "    def inputs(self, x):\n        return "
STEP = "    def step(self, state, u):\n        state, y = super().step(state, u)\n"
BODIES = (
    INPUTS + "{} * super().inputs(x)\n",
    STEP + "        return state, {} * y\n",
    "    # nothing else\n    scale = {}\n\n" + INPUTS + "self.scale * super().inputs(x)\n",
)


def threads(case: Case) -> str:
    """Describe a cell of random source in many threads, train with it, and change it."""
    from ostinato.runs import Config, train_many
    from ostinato.runs.config.members import find
    from ostinato.runs.folder.provenance import described_function

    chance = case.chance
    base, body, before = (chance.choice(x) for x in (BASES, BODIES, BEFORE))
    filler = "".join(
        f"def f{n}(x):\n    return [x, x + {n}]\n\n" for n in range(chance.randrange(200))
    )

    def write(factor: float) -> None:
        text = f"from ostinato.cells import {base}\n\n{before}{filler}\n\nclass Mine({base}):\n"
        (case.folder / "mine.py").write_text(text + body.format(factor))

    factor = chance.uniform(0.5, 1)
    write(factor)
    name = f"{case.folder / 'mine.py'}:Mine"
    case.what = f"an own {base} with {len(filler)} characters before it, {body!r}"
    kind = find("cell", name)[1]
    expected = described_function(kind)
    check("code" in expected, "an own cell without a fingerprint")
    with ThreadPoolExecutor(THREADS) as pool:
        found = [*pool.map(described_function, [kind] * 8 * THREADS)]
    check(all(one == expected for one in found), "threads see another code")
    given = {"task": "adding", "length": 5, "units": 3, "batch": 2, "steps": 2, "cell": name}
    configs = [Config(**given, seed=seed) for seed in range(RUNS)]
    folders = [case.folder / f"run-{seed}" for seed in range(RUNS)]
    runs = attempt(lambda: train_many(configs, folders))
    check(len({run.manifest["network"]["cell"]["code"] for run in runs}) == 1, "two codes")
    write(factor + 1)
    try:
        attempt(lambda: train_many([Config(**config.flat()) for config in configs], folders))
    except Refused as refused:
        check("code of cell has changed" in str(refused), f"refused as {refused}")
        return ACCEPTED
    raise Failed("runs of another code are taken for finished")
