"""Kill runs at random moments, damage and swap their files, and see what a resume makes of it.

    python scripts/kills.py --kills 100 --damages 200

Every run must resume to the numbers of an undisturbed one, bit for bit, or be refused with every
byte still there. The table says how often each came; a failure is printed, and the exit code is 1.

A run is killed (SIGKILL) and resumed, again and again, until it reaches its end between two kills;
then the next one begins. Half of the kills are of runs that choose themselves when to write a
checkpoint, half of runs with `--checkpoint-every`. Each waits for something that the run does
(`MOMENTS`), for the first or for a later time, and comes at once or a random time after it. What a
kill loses is compared with the promise: a minute, or twice the steps of `--checkpoint-every`, of
which the second ones are those during which a checkpoint is being written.

A process takes seconds to import everything, so runs are forks of this one, which has it imported;
but for one kill in twenty, which comes while `ostinato train` starts.
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
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
OPTIONS = (
    "fox.txt --units 4 --batch 3 --length 8 --steps 60 --checkpoint-every 5 --validate-every 15 "
    "--zoneout 0.1 --schedule plateau --clip auto --lens 20"
).split()
CLOCK = {"seconds", "took", "device", "spent"}

# What runs are killed in: (name, settings, seconds of a step, what a kill may lose and its unit).
COMMON = {
    "file": "fox.txt", "units": 4, "batch": 3, "length": 8, "zoneout": 0.1, "schedule": "plateau",
    "clip": "auto",
}  # fmt: skip
KINDS = (
    ("by default", {**COMMON, "steps": 700, "validate_every": 175}, 0.01, (60.0, "s")),
    (
        "--checkpoint-every 5",
        {**COMMON, "steps": 120, "validate_every": 15, "checkpoint_every": 5},
        0.0,
        (10, "steps"),
    ),
)
# What a kill waits for: how often the run does it at most, and seconds until the kill at most.
MOMENTS = {
    "building": (1, 1.5),
    "compiling": (1, 1.0),
    "compiling anew": (1, 6.0),  # with an empty cache
    "a step": (700, 0.02),
    "a validation": (4, 0.05),
    "writing a checkpoint": (3, 0.01),
    "writing the best": (3, 0.01),
    "a file operation": (60, 0.002),
    "ending": (1, 0.1),
}
OPERATIONS = ("open", "fsync", "replace", "unlink", "mkdir")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--damages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the random moments and damages")
    asked = parser.parse_args()
    os.environ.pop("XLA_FLAGS", None)  # the same numbers here and in every process
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("fox.txt").write_text(TEXT)
        os.environ |= {
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(Path("cache").resolve()),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        import ostinato.cli.verbs
        import ostinato.runs.loop.start  # noqa: F401  what every fork has then

        outcomes = collections.Counter()
        started = time.monotonic()
        if asked.kills:
            kills(asked.kills, random.Random(asked.seed), outcomes)
            print(f"kills: {time.monotonic() - started:.0f} s", flush=True)
        if asked.damages:
            timed(command("train", *OPTIONS, "--run", "whole"))
            reports(asked.damages // 10, random.Random(asked.seed + 2), outcomes)
            damages(asked.damages, random.Random(asked.seed + 1), outcomes)
        print(f"in all: {time.monotonic() - started:.0f} s\n")
    print("| what was done | what followed | cases |\n| --- | --- | --- |")
    for (what, outcome), count in sorted(outcomes.items()):
        print(f"| {what} | {outcome} | {count} |")
    return int(any(outcome.startswith("FAILED") for _, outcome in outcomes))


# Kills


def kills(count: int, chance: random.Random, outcomes: collections.Counter) -> None:
    for index, (name, settings, pause, promise) in enumerate(KINDS):
        whole = Path(f"whole-{index}")
        followed(whole, settings, pause)
        killed, runs, losses = 0, 0, []
        wanted = (count + index) // len(KINDS)
        while killed < wanted:
            path, moments, end = Path(f"run-{index}-{runs}"), [], ""
            runs += 1
            while not end:
                if killed + len(moments) == wanted:
                    end = followed(path, settings, pause).end
                elif chance.random() < 0.05:
                    kill_after(chance.uniform(0, 4), command(*started(settings, path)))
                    moments.append("starting")
                else:
                    fate = followed(path, settings, pause, chance)
                    end = fate.end
                    if not end:
                        moments.append(fate.moment)
                        losses.append(fate.lost_seconds if promise[1] == "s" else fate.lost_steps)
            outcome = end if end != "ended" else compared(path, whole)
            for moment in moments:
                outcomes[f"{name}: killed, {moment}", outcome] += 1
            if outcome.startswith("FAILED"):
                print(f"{path}: {', '.join(moments)}: {outcome}", flush=True)
                shutil.copytree(path, Path(tempfile.gettempdir()) / f"kept-{path}")
            killed += len(moments)
            shutil.rmtree(path, ignore_errors=True)
        lost, (most, unit) = max(losses, default=0), promise
        print(f"{name}: {killed} kills of {runs} runs lost at most {lost:.4g} {unit}", flush=True)
        if lost > most:
            outcomes[name, f"FAILED: lost {lost:.4g} {unit}, more than {most:g}"] += 1


class Fate(NamedTuple):
    """What became of a process: how it ended, or when it was killed and what that lost."""

    end: str = ""
    moment: str = ""
    lost_steps: int = 0
    lost_seconds: float = 0.0


def followed(path: Path, settings: dict, pause: float, chance: random.Random | None = None) -> Fate:
    """Start or resume a run in a fork, and with `chance` kill it, if it does not end before."""
    moment, times, delay = "", 0, None
    if chance is not None:
        moment = chance.choice(list(MOMENTS))
        times, delay = MOMENTS[moment]
        times = chance.randint(1, min(times, settings["steps"]))
        delay = chance.choice((None, chance.uniform(0, delay)))
    reading, writing = os.pipe()
    if (process := os.fork()) == 0:
        os.close(reading)
        fork(writing, path, settings, pause, moment, times if delay is None else 0)
    os.close(writing)
    begun, seen, steps, now = newest(path), 0, [], time.monotonic()
    with os.fdopen(reading) as lines:
        for line in lines:
            what, number, when = line.rstrip("\n").split("\t")
            now = float(when)
            if what == "a step":
                steps.append((int(number), now))
            seen += what == moment
            if delay is not None and what == moment and seen == times:
                time.sleep(delay)
                os.kill(process, signal.SIGKILL)
                now = time.monotonic()
                seen += 1
    _, status = os.waitpid(process, 0)
    if not os.WIFSIGNALED(status):
        problem = Path("problem.txt")
        return Fate("ended" if status == 0 else f"FAILED: {problem.read_text()[-500:]}")
    saved = newest(path)
    done = [when for number, when in steps if number <= max(saved, begun)]
    return Fate(
        moment=f"{moment}{' begins' if delay is None else ''}",
        lost_steps=steps[-1][0] - saved if steps else 0,
        lost_seconds=now - (done[-1] if done else steps[0][1]) if steps else 0.0,
    )


def fork(pipe: int, path: Path, settings: dict, pause: float, moment: str, times: int) -> None:
    """Train in this process, which says what it does, and kills itself at a moment."""
    seen = 0

    def tell(what: str, number: int = 0) -> None:
        nonlocal seen
        os.write(pipe, f"{what}\t{number}\t{time.monotonic()}\n".encode())
        seen += what == moment
        if what == moment and seen == times:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        tell("building")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if moment == "compiling anew":
            shutil.rmtree("cold", ignore_errors=True)
            import jax

            jax.config.update("jax_compilation_cache_dir", str(Path("cold").resolve()))
        watch(tell, pause)
        from ostinato.runs import Config, train

        train(Config(**settings), path, resume=is_run(path))
        os._exit(0)
    except BaseException:
        Path("problem.txt").write_text(traceback.format_exc())
        os._exit(1)


def watch(tell, pause: float) -> None:
    """Call `tell` with what a run begins to do: one of `MOMENTS`."""
    from ostinato.runs.loop.checkpointing import CheckpointWriter
    from ostinato.runs.loop.loop import Training
    from ostinato.runs.loop.validation import Validation

    def before(owner, name, say):
        call = getattr(owner, name)

        def told(*arguments, **options):
            say(*arguments)
            return call(*arguments, **options)

        setattr(owner, name, told)

    first = True

    def step(training, now, fresh, number):
        nonlocal first
        if first:
            tell("compiling")
            tell("compiling anew")
        first = False
        tell("a step", number)
        time.sleep(pause)

    def write(writer, checkpoint, progress):
        best = progress.best_step == progress.step
        tell("writing the best" if best else "writing a checkpoint")

    def operation(path, *rest):
        if rest[:1] != (os.O_RDONLY,):
            tell("a file operation")

    before(Training, "_advance", step)
    before(Validation, "__call__", lambda *_: tell("a validation"))
    before(Training, "_save_last", lambda *_: tell("ending"))
    before(CheckpointWriter, "_write", write)
    for name in OPERATIONS:
        before(os, name, operation)


def newest(path: Path) -> int:
    """The step of the newest checkpoint."""
    names = (path / "checkpoints").glob("step-*.safetensors")
    return max((int(name.stem[5:]) for name in names), default=0)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from ostinato.cli import main\nmain()", *arguments]


def started(settings: dict, path: Path) -> list[str]:
    """`ostinato train` with these settings, or its `--resume`."""
    if is_run(path):
        return ["train", "--resume", "--run", str(path)]
    rest = {name: x for name, x in settings.items() if name != "file"}
    options = [word for name, x in rest.items() for word in (f"--{name.replace('_', '-')}", str(x))]
    return ["train", settings["file"], *options, "--run", str(path)]


def new(path: Path) -> list[str]:
    return ["train", *OPTIONS, "--run", str(path)]


def is_run(path: Path) -> bool:
    return (path / "config.json").exists()


def timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def kill_after(seconds: float, command: list[str]) -> None:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def log_of(path: Path) -> Path:
    return path / "events.jsonl"


def compared(path: Path, whole: Path = Path("whole")) -> str:
    from ostinato.files import is_leftover

    one, other = arrays(whole), arrays(path)
    if one.keys() != other.keys() or any(one[name] != other[name] for name in one):
        return "FAILED: other numbers than undisturbed"
    if logged(path) != logged(whole):
        return "FAILED: another log than undisturbed"
    left = [p.name for p in path.rglob("*") if p.name == ".lock" or is_leftover(p.name)]
    return f"FAILED: left {left[0]}" if left else "resumed, bit for bit"


def arrays(path: Path) -> dict[str, tuple]:
    import safetensors.numpy

    file = max((path / "checkpoints").glob("step-*"))
    tensors = safetensors.numpy.load_file(file)
    return {file.name: (), **{n: (x.dtype, x.shape, x.tobytes()) for n, x in tensors.items()}}


def logged(path: Path) -> list[dict]:
    from ostinato.runs.folder.log import read_events

    kinds = ("train", "valid", "lens")
    events = list(read_events(path))
    events = [event for event in events if event["kind"] in kinds] + events[-1:]
    return [{k: v for k, v in event.items() if k not in CLOCK} for event in events]


def reports(count: int, chance: random.Random, outcomes: collections.Counter) -> None:
    shutil.copytree("whole", "looked-at")
    seconds = timed(command("lens", "looked-at"))
    for i in range(count):
        outcomes[killed_report(Path(f"report-{i}"), chance.uniform(0, seconds))] += 1
        shutil.rmtree(f"report-{i}")


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


def damages(count: int, chance: random.Random, outcomes: collections.Counter) -> None:
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
        outcomes[what, outcome] += 1
        shutil.rmtree(path)


def stopped(path: Path, step: int) -> None:
    """A run that was interrupted, with several checkpoints."""
    code = (
        "import os, signal, sys; from ostinato.runs.loop import loop\n"
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
