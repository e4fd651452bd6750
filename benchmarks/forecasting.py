"""Forecasts of three public series against Darts, sktime and statsmodels: error, coverage, seconds.

    python benchmarks/forecasting.py --peers /path/to/python [--seeds 3] [--updates 600]

`--peers` is the interpreter of an environment with darts, sktime and neuralforecast; without it
only Ostinato and statsmodels are measured. `OSTINATO_DATA` names the folder with `timeseries/`.

All networks are one LSTM layer of 32 units that reads 48 steps, with Adam at the rate that the
library has by default, as many updates with batches of 32, and the best of the validations after
every 40 updates. sktime does not validate. Everyone gets the first 60 % for training and the next
20 % for validation, and forecasts the horizon from 20 origins in the last 20 %, from all that is
known there, without being trained anew; ETS and theta are fitted anew at each. Runs alternate, one
process each; a process counts the seconds of its training, and those from its start to the first
forecast with all that it imports, on the wall and of all cores.
`Ostinato` and `darts block` forecast the horizon at once, `Ostinato loop` and `darts rnn` one step,
and then read their own forecasts, in 500 drawn paths. `small` starts from smaller weights.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from measure import machine, publish, table

UNITS, LENGTH, BATCH, VALIDATE, ORIGINS, LEVELS = 32, 48, 32, 40, 20, (0.1, 0.5, 0.9)
# What is compiled is kept, as the command line does it, but for this benchmark alone.
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": tempfile.mkdtemp(prefix="forecasting-"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}
PEERS = ("darts block", "darts rnn", "sktime")
# Initial weights for short series, chosen on the validation parts; see `RESULTS.md`.
SMALL = {"input": "uniform:0.177", "recurrent": "uniform:0.177"}
STEP = {"horizon": 1}
OURS = {
    "Ostinato": {},
    "Ostinato loop": STEP,
    "Ostinato loop small": SMALL | STEP,
}
TIMES = ("cpu", "whole_cpu", "wall", "whole_wall")
FITTED = ("ets", "theta", "sarimax")
ALL = (*OURS, *PEERS, *FITTED)
# Steps to forecast, steps of a season, and the orders of a SARIMAX model.
SERIES = {
    "sunspots": (12, 11, ((3, 0, 1), (1, 0, 0, 11))),
    "laser": (10, None, ((9, 0, 1), (0, 0, 0, 0))),
    "elnino": (12, 12, ((2, 0, 1), (1, 0, 1, 12))),
}
ABOUT = {
    "sunspots": "yearly sunspots, 1700 to 2008",
    "laser": "the first 2,000 steps of the Santa Fe laser",
    "elnino": "monthly sea surface temperature, El Niño region, 1950 to 2010",
}


def values_of(name: str) -> np.ndarray:
    folder = Path(os.environ["OSTINATO_DATA"]) / "timeseries"
    if name == "sunspots":
        return np.loadtxt(folder / "sunspots.csv", delimiter=",", skiprows=1)[:, 1]
    if name == "laser":
        return np.load(folder / "santafe_laser.npy").astype(float).ravel()[:2000]
    import statsmodels.api as sm

    frame = sm.datasets.elnino.load_pandas().data
    return frame.iloc[:, 1:].to_numpy(float).ravel()


def clock() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def whole(job: dict) -> dict:
    """Seconds since the process began, with all that it imported."""
    return {"whole_wall": time.time() - job["started"], "whole_cpu": clock()[1]}


def ours(job: dict) -> dict:
    """A run of `ostinato train`, and its backtest; compiling is part of the time to train."""
    from ostinato.runs import Config, train
    from ostinato.tasks.series.backtest import backtest
    from ostinato.tasks.series.continuing import drawn_paths, forecasts_at_each

    own: dict = {"horizon": job["horizon"]} | OURS[job["library"]]
    loop = own["horizon"] == 1
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", np.array(job["values"]))
        config = Config(
            file=f"{folder}/x.npy",
            season=job["season"],
            quantiles=",".join(map(str, LEVELS)),
            conformal=True,
            split="60/20/20",
            cell="lstm",
            units=UNITS,
            length=LENGTH,
            batch=BATCH,
            steps=job["updates"],
            validate_every=job["validate"],
            seed=job["seed"],
            **own,
        )
        begun = clock()
        run = train(config, f"{folder}/run")
        ended = clock()
        task, network = run.task(), run.network()
        known = [task.series[0][:origin] for origin in job["origins"]]
        times = {"wall": ended[0] - begun[0], "cpu": ended[1] - begun[1]}
        if loop:
            drawn = [drawn_paths(network, task, known[0], job["horizon"])[:, :, 0]]
            times |= whole(job)
            drawn += [drawn_paths(network, task, x, job["horizon"])[:, :, 0] for x in known[1:]]
            made = [np.quantile(paths, LEVELS, axis=0).T.tolist() for paths in drawn]
            return {"forecasts": made, "levels": LEVELS, **times}
        forecasts_at_each(network, task, known[0])
        times |= whole(job)
        calibrated = backtest(network, task, ORIGINS)
        task.calibration = None
        made = backtest(network, task, ORIGINS)
        spent = next(e for e in run.events() if e["kind"] == "end")["spent"]
    return {
        "forecasts": made.made.forecasts[:, :, 0].tolist(),
        "levels": LEVELS,
        "calibrated": calibrated.made.forecasts[:, :, 0].tolist(),
        **times,
        "spent": spent,
    }


def fitted(job: dict) -> dict:
    """ETS and theta of statsmodels, fitted anew at each origin; SARIMAX, fitted at the first."""
    import warnings

    from statsmodels.tsa.statespace.sarimax import SARIMAX

    from ostinato.tasks.series.statistical import statistical

    warnings.simplefilter("ignore")
    values, begun, forecasts, model = np.array(job["values"]), clock(), [], None
    for origin in job["origins"]:
        known = values[:origin]
        if job["library"] in ("ets", "theta"):
            made = statistical(job["library"], known, job["horizon"], job["season"], LEVELS)
        else:
            order, season = SERIES[job["series"]][2]
            if model is None:
                model = SARIMAX(known, order=order, seasonal_order=season, trend="c")
                model = model.fit(disp=False, maxiter=50)
            ahead = model.apply(known).get_forecast(job["horizon"])
            low, high = ahead.conf_int(alpha=0.2).T
            made = np.stack([low, ahead.predicted_mean, high], axis=1)
        forecasts.append(made.tolist())
        if len(forecasts) == 1:
            first = whole(job)
    ended = clock()
    times = {"wall": ended[0] - begun[0], "cpu": ended[1] - begun[1], **first}
    return {"forecasts": forecasts, "levels": LEVELS, **times}


def run_one(job: dict, peers: str | None) -> dict:
    """One process for each run, so that none warms up another."""
    own = [sys.executable, __file__, "--one"]
    script = str(Path(__file__).parent / "forecasting_peers.py")
    command = [peers, script] if job["library"] in PEERS else own
    threads = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE", **COMPILED}
    ended = subprocess.run(
        [str(x) for x in command],
        input=json.dumps(job | {"started": time.time()}),
        env={k: x for k, x in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | threads,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(f"{job['library']} on {job['series']}: {ended.stderr[-2000:]}")
    return json.loads(ended.stdout[ended.stdout.index("{") :])


def scored(job: dict, made: list, levels: list) -> dict:
    from ostinato.tasks.series.forecast_scores import Hindcasts, naive_scales

    values = np.array(job["values"])
    places = np.array(job["origins"])[:, None] + np.arange(job["horizon"])
    scale = naive_scales([values[:, None]], [slice(0, job["train"])], [0], job["season"] or 1)
    count = len(places)
    return Hindcasts(
        tuple(levels),
        np.array(made)[:, :, None],
        values[places][..., None],
        np.zeros(count, int),
        np.repeat(scale, count, axis=0),
    ).metrics()


def jobs_of(name: str, updates: int) -> dict:
    from ostinato.tasks import Series
    from ostinato.tasks.series.backtest import origins_of

    values, (horizon, season, _) = values_of(name), SERIES[name]
    task = Series(values, horizon=horizon, split="60/20/20")
    train = task.rows.span("valid")[0]
    return {
        "series": name,
        "values": values.tolist(),
        "train": train,
        "valid": task.rows.span("test")[0] - train,
        "horizon": horizon,
        "season": season,
        "origins": origins_of(task, ORIGINS)[0].tolist(),
        "levels": list(LEVELS),
        "updates": updates,
        "validate": VALIDATE,
        "units": UNITS,
        "length": LENGTH,
        "batch": BATCH,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peers", help="the interpreter that has Darts and sktime")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--series", default=",".join(SERIES), help="which of them")
    parser.add_argument("--libraries", default=",".join(ALL), help="which of them")
    parser.add_argument("--log", help="keep each result here, a line of JSON; those there are used")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        job = json.load(sys.stdin)
        print(json.dumps(ours(job) if job["library"] in OURS else fitted(job)))
        return
    log = Path(given.log or tempfile.mkstemp(suffix=".jsonl")[1])
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {tuple(line["key"]): line for line in lines}
    wanted = [x for x in given.libraries.split(",") if given.peers or x not in PEERS]
    for name in given.series.split(","):
        job = jobs_of(name, given.updates)
        for library, seed in [(x, n) for n in range(given.seeds) for x in wanted]:
            if seed and library in FITTED:  # which know no chance
                continue
            key = (name, library, seed, given.updates)
            if key in known:
                continue
            one = job | {"library": library, "seed": seed}
            result = run_one(one, given.peers)
            line = {"key": key, **{name: result[name] for name in TIMES}}
            line |= {"metrics": scored(job, result["forecasts"], result["levels"])}
            if "calibrated" in result:
                line["calibrated"] = scored(job, result["calibrated"], result["levels"])
                line["spent"] = result["spent"]
            known[key] = line
            with log.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(key, line, flush=True)
    report(known, given)


def report(known: dict, given: argparse.Namespace) -> None:
    parts = []
    for name in SERIES:
        rows = []
        for library in ALL:
            same = (name, library, given.updates)
            lines = [x for (*key, _, n), x in known.items() if (*key, n) == same]
            if lines:
                rows.append(row_of(library, lines))
        head = [
            "",
            "MAE",
            "MASE",
            "CRPS",
            "coverage of 80 %",
            "train, s of all cores",
            "from start to forecast, s of all cores",
        ]
        steps = SERIES[name][0]
        parts.append(f"{ABOUT[name]}; {steps} steps ahead:\n\n{table(head, rows)}")
    longer = [x for key, x in sorted(known.items()) if key[3] != given.updates]
    if longer:
        rows = [
            [*x["key"][:2], f"{x['key'][3]:,}", x["key"][2], f"{x['cpu']:.3g}", f"{x['wall']:.3g}"]
            for x in longer
        ]
        head = ["series", "", "updates", "seed", "train, s of all cores", "s on the wall"]
        parts.append(f"More updates, which compile no more:\n\n{table(head, rows)}")
    words = (
        f"One LSTM layer of {UNITS} units, {given.updates:,} updates, batches of {BATCH} windows "
        f"of {LENGTH} steps; {ORIGINS} origins in the last 20 %, nobody trained anew but "
        "ETS and theta, which are fitted at each. Means of the seeds ± their deviation. "
        "Seconds are those of training, with what it compiles; what Ostinato has compiled the "
        "first time is kept for the next. A process each, the libraries in turn, on a machine that "
        "others used at the same time, so that the seconds of all cores say more than those on the "
        "wall. CRPS is of three quantiles, and of those without intervals that of the point."
    )
    publish(
        "Forecasts against Darts, sktime and statsmodels", "\n\n".join([words, *parts]), machine()
    )


def row_of(library: str, lines: list[dict]) -> list[str]:
    def mean(values: list) -> str:
        if None in values:
            return "–"
        spread = f" ± {np.std(values):.2g}" if len(values) > 1 else ""
        return f"{np.mean(values):.3g}{spread}"

    cover = "coverage of the 0.8 interval"
    names = ("mean absolute error", "MASE", "CRPS", cover)
    cells = [mean([line["metrics"].get(name) for line in lines]) for name in names]
    if "calibrated" in lines[0]:
        cells[-1] += f"; {mean([line['calibrated'][cover] for line in lines])} with --conformal"
    times = [mean([line[name] for line in lines[1:] or lines]) for name in TIMES[:2]]
    if library in OURS:
        first = [f"{lines[0][name]:.3g} the first time" for name in TIMES[:2]]
        later = [f"{time}; " if len(lines) > 1 else "" for time in times]
        times = [f"{one}{two}" for one, two in zip(later, first, strict=True)]
    seeds = f"{len(lines)} seed{'s' if len(lines) > 1 else ''}"
    return [library if library in FITTED else f"{library}, {seeds}", *cells, *times]


if __name__ == "__main__":
    main()
