"""Train the runs of a contrast on a Ray cluster.

A job, the runs of one entry, is one Ray task. All machines must see the contrast's folder under the
same path: the run folders are the only store. If a worker is lost, Ray starts its task again on
another one, where finished runs are only opened and the others continue from their checkpoints. So
the result is the same as in one process.
"""

import json
import os
from pathlib import Path
from typing import Any

from ..errors import BadInput, NeedsExtra
from ..progress import Report
from ..runs import Config
from ..runs.config.config import flattened
from ..runs.folder.log import read_events
from ..runs.many import is_over
from .measures import measure_all, measuring
from .training import Job, Listener, Trainer, finish

RETRIES = 5


def on_ray(address: str | None = None) -> Trainer:
    """A trainer that spreads jobs over a Ray cluster.

    Args:
        address: of the cluster; `"auto"` for the one that this machine belongs to, and `None` to
            start one on this machine, which ends with the process.
    """
    try:
        import ray
    except ImportError:
        raise NeedsExtra("--ray", "ray", "cluster") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=False)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            words = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise BadInput(f"there is no Ray cluster at {address}: {words}") from None
    gpus = 1 if ray.cluster_resources().get("GPU") else 0
    remote: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_train_job)

    def train(jobs: list[Job], listener: Listener, report: Report) -> None:
        done = {folder for job in jobs for folder in job.folders if is_over(folder)}
        here = Path.cwd()
        running = {
            remote.remote(
                [str(config) for config in job.configs],
                [str(here / folder) for folder in job.folders],
                job.measure,
            ): job
            for job in jobs
        }
        while running:
            (first,), _ = ray.wait(list(running), num_returns=1)
            job = running.pop(first)
            try:
                ray.get(first)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                raise BadInput(
                    f"the Ray workers of {job.folders[0].parent} were lost {RETRIES + 1} times; "
                    f"what they finished is kept, continue with --resume ({type(error).__name__})"
                ) from None
            _report([folder for folder in job.folders if folder not in done], listener)
            if job.measure:
                report(1, 1, measuring(job.folders))

    return train


def _train_job(configs: list[str], folders: list[str], measure: bool) -> None:
    """A job, on a worker: configurations as JSON and folders as absolute paths."""
    os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true")
    paths = [Path(folder) for folder in folders]
    # Whoever started the contrast has named its classes, on whichever machine this is.
    named = [Config(**flattened(json.loads(one))) for one in configs]
    finish(named, paths, lambda run, event: None)
    if measure:
        measure_all(paths)


def _report(folders: list[Path], listener: Listener) -> None:
    """Pass on how each run ended: events of workers stay in their logs."""
    for folder in folders:
        if events := read_events(folder):
            listener(folder, dict(events[-1]))
