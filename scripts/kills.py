"""Kill runs at random moments, damage and swap their files, and see what a resume makes of it.

    python scripts/kills.py --kills 200 --damages 200

Every run must resume to the numbers of an undisturbed one, bit for bit, or be refused with every
byte still there. The table says how often each came; a failure is printed, and the exit code is 1.

A third of the kills comes at a random time of `ostinato train` (import, compilation, training), a
third at a random one of its file operations, and a third at a random time of `ostinato lens`.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
OPTIONS = (
    "fox.txt --units 4 --batch 3 --length 8 --steps 60 --checkpoint-every 5 --validate-every 15 "
    "--zoneout 0.1 --schedule plateau --clip auto --lens 20"
).split()
OPERATIONS = ("open", "fsync", "replace", "unlink", "mkdir")
CLOCK = {"seconds", "took", "device", "spent"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("fox.txt").write_text(TEXT)
        os.environ.pop("XLA_FLAGS", None)  # the same numbers here and in every process
        os.environ |= {
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(Path("cache").resolve()),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        found = collections.Counter()
        started = time.monotonic()
        kills(asked.kills, random.Random(asked.seed), found)
        print(f"kills: {time.monotonic() - started:.0f} s", flush=True)
        damages(asked.damages, random.Random(asked.seed + 1), found)
        print(f"in all: {time.monotonic() - started:.0f} s\n")
    print("| what was done | what followed | cases |\n| --- | --- | --- |")
    for (what, outcome), count in sorted(found.items()):
        print(f"| {what} | {outcome} | {count} |")
    return int(any(outcome.startswith("FAILED") for _, outcome in found))


# Kills


def kills(count: int, chance: random.Random, found: collections.Counter) -> None:
    cold = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(Path("cold").resolve())}
    seconds = timed(command("train", *OPTIONS, "--run", "whole"))
    shutil.copytree("whole", "looked-at")
    report = timed(command("lens", "looked-at"))
    for i in range(count):
        path = Path(f"run-{i}")
        kind = ("time", "operation", "lens")[i % 3]
        if kind == "lens":
            what, outcome = killed_report(path, chance.uniform(0, report))
        else:
            if kind == "time" and chance.random() < 0.3:  # with all of the compilation
                shutil.rmtree("cold", ignore_errors=True)
                kill_after(chance.uniform(0, seconds), command(*new(path)), cold)
            elif kind == "time":
                kill_after(chance.uniform(0, seconds / 2), command(*new(path)))
            else:
                at = chance.randrange(operations_of_a_run())
                subprocess.run(command(*new(path), at=at), stdout=subprocess.DEVNULL)
            what = f"killed {stage(path)}"
            if chance.random() < 0.3:  # and once more
                kill_after(chance.uniform(1, seconds), command(*again(path)))
            outcome = gone_on(path)
        found[what, outcome] += 1
        if outcome.startswith("FAILED"):
            print(f"kill {i}: {what}: {outcome}", flush=True)
            shutil.copytree(path, Path(tempfile.gettempdir()) / f"kill-{i}", dirs_exist_ok=True)
        shutil.rmtree(path, ignore_errors=True)


def command(*arguments: str, at: int | None = None) -> list[str]:
    """`ostinato …`; with `at`, killed by itself at that file operation."""
    code = "" if at is None else KILL_AT.format(names=OPERATIONS, at=at)
    return [sys.executable, "-c", f"{code}\nfrom ostinato.cli import main\nmain()", *arguments]


# What patches the file operations of a process, and counts them.
KILL_AT = """
import os, signal
calls = 0
def counted(operation):
    def call(path, *rest, **options):
        global calls
        if {at} < 0 or operation.__name__ != "open" or rest and rest[0] & os.O_CREAT:
            if calls == {at}:
                os.kill(os.getpid(), signal.SIGKILL)
            calls += 1
        return operation(path, *rest, **options)
    return call
for name in {names}:
    setattr(os, name, counted(getattr(os, name)))
"""


def operations_of_a_run() -> int:
    """How many file operations an undisturbed run makes, nearly."""
    events = (Path("whole") / "events.jsonl").read_text().count("\n")
    return events + 6 * 16


def new(path: Path) -> list[str]:
    return ["train", *OPTIONS, "--run", str(path)]


def again(path: Path) -> list[str]:
    return ["train", "--resume", "--run", str(path)] if is_run(path) else new(path)


def is_run(path: Path) -> bool:
    return (path / "config.json").exists()


def timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def kill_after(seconds: float, command: list[str], environment: dict | None = None) -> None:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def stage(path: Path) -> str:
    """What the process was doing, by what it left."""
    from ostinato.files import is_leftover

    if not path.exists():
        return "while importing or building"
    if any(is_leftover(file.name) for file in path.rglob("*")):
        return "while writing a file"
    if not is_run(path):
        return "while making the folder"
    lines = (path / "events.jsonl").read_text().splitlines() if log_of(path).exists() else []
    last = lines[-1] if lines else ""
    for kind, words in (("start", "while compiling"), ("end", "after its end")):
        if f'"kind": "{kind}"' in last:
            return words
    return "while training" if last else "while making the folder"


def log_of(path: Path) -> Path:
    return path / "events.jsonl"


def gone_on(path: Path) -> str:
    """What a last attempt, which nobody disturbs, makes of a run."""
    done = subprocess.run(command(*again(path)), capture_output=True, text=True)
    if done.returncode:
        return f"FAILED: {done.stderr.strip()[-300:]}"
    return compared(path)


def compared(path: Path) -> str:
    from ostinato.files import is_leftover

    one, other = arrays(Path("whole")), arrays(path)
    if one.keys() != other.keys() or any(one[name] != other[name] for name in one):
        return "FAILED: other numbers than undisturbed"
    if logged(path) != logged(Path("whole")):
        return "FAILED: another log than undisturbed"
    left = [p.name for p in path.rglob("*") if p.name == ".lock" or is_leftover(p.name)]
    return f"FAILED: left {left[0]}" if left else "resumed, bit for bit"


def arrays(path: Path) -> dict[str, tuple]:
    import safetensors.numpy

    file = max((path / "checkpoints").glob("step-*"))
    found = safetensors.numpy.load_file(file)
    return {file.name: (), **{n: (x.dtype, x.shape, x.tobytes()) for n, x in found.items()}}


def logged(path: Path) -> list[dict]:
    from ostinato.runs.log import read_events

    kinds = ("train", "valid", "lens")
    events = [event for event in read_events(path) if event["kind"] in kinds]
    return [{k: v for k, v in event.items() if k not in CLOCK} for event in events]


def killed_report(path: Path, after: float) -> tuple[str, str]:
    """`ostinato lens`, killed: the run is as before, and the next report is written."""
    shutil.copytree("whole", path)
    before = content(path)
    kill_after(after, command("lens", str(path)))
    after = content(path)
    if any(after.get(name) != data for name, data in before.items()):
        return "killed while reporting", "FAILED: the run was changed"
    page = path / "report.html"
    if page.exists() and "</html>" not in page.read_text():
        return "killed while reporting", "FAILED: half a page"
    return "killed while reporting", "the run is as before, the page whole or not there"


# Damages


def damages(count: int, chance: random.Random, found: collections.Counter) -> None:
    from ostinato.errors import BadInput
    from ostinato.runs import open_run, train

    warnings.simplefilter("ignore")
    stopped(Path("half"), 37)
    subprocess.run(
        command("train", *OPTIONS, "--seed", "1", "--run", "other"), stdout=subprocess.DEVNULL
    )
    for i in range(count):
        path = Path(f"damaged-{i}")
        shutil.copytree("half", path)
        what = damage(path, chance)
        before = content(path)
        try:
            run = open_run(path)
            if run.config.steps != 60:  # a person may ask for other steps
                what = "steps were changed"
            train(run.config, path, resume=True)
            outcome = compared(path) if "log" not in what else compared_without_log(path)
            if what == "steps were changed":
                outcome = "resumed, with other steps"
        except BadInput as error:
            same = content(path) == before and "\n" not in str(error)
            outcome = "refused, every byte still there" if same else f"FAILED: refused, {error}"
        except Exception as error:
            outcome = f"FAILED: {type(error).__name__}: {str(error)[:200]}"
        if outcome.startswith("FAILED"):
            print(f"damage {i}: {what}: {outcome}", flush=True)
        found[what, outcome] += 1
        shutil.rmtree(path)


def stopped(path: Path, step: int) -> None:
    """A run that was interrupted, with several checkpoints."""
    code = (
        "import os, signal, sys; from ostinato.runs import loop\n"
        "advance = loop.Training._advance\n"
        "def _advance(self, now, fresh, step):\n"
        f"    if step == {step}: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return advance(self, now, fresh, step)\n"
        "loop.Training._advance = _advance\n"
        "from ostinato.cli import main; main()"
    )
    line = [sys.executable, "-c", code, *new(path)]
    subprocess.run(line, stdout=subprocess.DEVNULL)


def compared_without_log(path: Path) -> str:
    shutil.copy(log_of(Path("whole")), log_of(path))
    return compared(path)


def damage(path: Path, chance: random.Random) -> str:
    """Do something to one of the files of a run, and say what."""
    files = sorted(p for p in path.rglob("*") if p.is_file())
    file, second = chance.sample(files, 2)
    data = bytearray(file.read_bytes())
    other = Path("other") / file.relative_to(path)
    harm = chance.choice(("bit", "bit", "bit", "cut", "zeros", "longer", "gone", "swap", "other"))
    if harm == "other" and not other.exists():
        harm = "gone"
    if harm == "bit":
        place = chance.randrange(8 * len(data))
        data[place // 8] ^= 1 << place % 8
        file.write_bytes(data)
    elif harm == "cut":
        file.write_bytes(data[: chance.randrange(len(data))])
    elif harm == "zeros":
        start = chance.randrange(len(data))
        data[start : start + 512] = bytes(min(512, len(data) - start))
        file.write_bytes(data)
    elif harm == "longer":
        file.write_bytes(data + chance.randbytes(chance.randrange(1, 999)))
    elif harm == "gone":
        file.unlink()
    elif harm == "swap":
        file.write_bytes(second.read_bytes())
        second.write_bytes(data)
    elif harm == "other":
        shutil.copy(other, file)
    words = {
        "bit": "a bit flipped in", "cut": "cut short:", "zeros": "zeros written over",
        "longer": "bytes added to", "gone": "removed:", "swap": "swapped with another file:",
        "other": "replaced by another run's:",
    }  # fmt: skip
    kind = "a checkpoint" if file.parent.name == "checkpoints" else file.name
    touched = {file.name, second.name} if harm == "swap" else {file.name}
    log = ", the log" if "events.jsonl" in touched else ""
    return f"{words[harm]} {kind}{log}"


def content(path: Path) -> dict[str, bytes]:
    files = (p for p in path.rglob("*") if p.is_file())
    return {str(p.relative_to(path)): p.read_bytes() for p in files}


if __name__ == "__main__":
    sys.exit(main())
