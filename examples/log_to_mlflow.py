"""Keep settings, metrics and the folder of a run in MLflow, by a listener.

python examples/log_to_mlflow.py

Here the store is a file of SQLite in a temporary folder, so no server is needed. A listener is any
function of an event, a dictionary as in `events.jsonl`; an event of the kind `train` has the loss,
one of the kind `valid` the metrics.
"""

import re
import tempfile

import mlflow

from ostinato import Config, train


def metrics_of(event):
    """The numbers of an event, by names that MLflow takes."""
    numbers = {"loss": event.get("loss")} | event.get("metrics", {})
    return {
        f"{event['kind']} {re.sub('[^0-9A-Za-z_ ./-]', '-', name)}": float(value)
        for name, value in numbers.items()
        if isinstance(value, int | float)
    }


config = Config(task="adding", length=10, cell="gru", units=8, steps=40, validate_every=20)
with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/store.db")
    place = mlflow.create_experiment("ostinato", artifact_location=f"file://{folder}/kept")
    with mlflow.start_run(experiment_id=place) as started:
        mlflow.log_params(config.non_default())

        def listener(event):
            if event["kind"] in ("train", "valid"):
                mlflow.log_metrics(metrics_of(event), step=event["step"])

        run = train(config, f"{folder}/run", listener=listener)
        mlflow.log_metrics({f"test {name}": x for name, x in run.evaluate("test").items()})
        mlflow.log_artifacts(str(run.path), "run")
    kept = mlflow.get_run(started.info.run_id).data
    print("parameters:", ", ".join(sorted(kept.params)))
    print("metrics:", ", ".join(sorted(kept.metrics)))
    files = mlflow.artifacts.list_artifacts(run_id=started.info.run_id, artifact_path="run")
    print("files:", ", ".join(sorted(file.path.rpartition("/")[2] for file in files)))
