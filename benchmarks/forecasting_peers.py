"""The forecasts of `forecasting.py` by Darts and sktime; it runs in an environment that has them.

Reads from standard input what to do, as JSON, and writes the forecasts and the time to train:

    {"library": "darts block", "values": [...], "train": 185, "valid": 62, "horizon": 12,
     "origins": [...], "levels": [0.1, 0.5, 0.9], "seed": 0, "updates": 600, "validate": 40,
     "units": 32, "length": 48, "batch": 32}
"""

import json
import logging
import os
import resource
import sys
import tempfile
import time
import warnings

import numpy as np

SAMPLES = 500  # of an autoregressive forecast


def clock():
    """Seconds on the wall, and those of all cores."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def since_start(job):
    """Seconds since the process began, with all that it imported."""
    return {"whole_wall": time.time() - job["started"], "whole_cpu": clock()[1]}


def darts(job, values):
    """`BlockRNNModel`, which forecasts the horizon at once, or `RNNModel`, step by step."""
    from darts import TimeSeries
    from darts.models import BlockRNNModel, RNNModel
    from darts.utils.likelihood_models.torch import QuantileRegression

    train, valid, horizon, length = (job[x] for x in ("train", "valid", "horizon", "length"))
    whole = TimeSeries.from_values(values.astype(np.float32))
    block = job["library"] == "darts block"
    windows = train - length - (horizon if block else 1) + 1
    epochs = -(-job["updates"] // max(1, -(-windows // job["batch"])))
    form = {"output_chunk_length": horizon} if block else {"training_length": length + 1}
    kind = BlockRNNModel if block else RNNModel
    with tempfile.TemporaryDirectory() as folder:
        model = kind(
            input_chunk_length=length if block else length // 2,
            model="LSTM",
            hidden_dim=job["units"],
            n_rnn_layers=1,
            batch_size=job["batch"],
            n_epochs=epochs,
            likelihood=QuantileRegression(job["levels"]),
            random_state=job["seed"],
            save_checkpoints=True,
            work_dir=folder,
            model_name="model",
            pl_trainer_kwargs={
                "accelerator": "cpu",
                "max_steps": job["updates"],
                "check_val_every_n_epoch": max(1, epochs * job["validate"] // job["updates"]),
                "enable_progress_bar": False,
                "enable_model_summary": False,
                "logger": False,
            },
            **form,
        )
        begun = clock()
        # Windows of the validation part begin in the training part, so that it has enough of them.
        model.fit(whole[:train], val_series=whole[train - length : train + valid], verbose=False)
        model = kind.load_from_checkpoint("model", work_dir=folder, best=True)
        ended = clock()
    known = [whole[:origin] for origin in job["origins"]]
    alone = {"predict_likelihood_parameters": True} if block else {"num_samples": SAMPLES}
    model.predict(horizon, known[0], verbose=False, **alone)
    first = since_start(job)
    if block:
        made = model.predict(horizon, known, predict_likelihood_parameters=True, verbose=False)
        forecasts = np.stack([one.values() for one in made])
    else:
        made = model.predict(horizon, known, num_samples=SAMPLES, verbose=False)
        paths = np.stack([one.all_values()[:, 0] for one in made])
        forecasts = np.quantile(paths, job["levels"], axis=-1).transpose(1, 2, 0)
    return forecasts, job["levels"], begun, ended, first


def sktime(job, values):
    """`NeuralForecastLSTM`; it has no intervals, and no forecast from another origin.

    Its `predict` starts at the end of the training part even after `update`, so that the forecasts
    from the other origins are asked of the model that it wraps.
    """
    import pandas as pd
    from sktime.forecasting.neuralforecast import NeuralForecastLSTM

    series = pd.Series(values, index=pd.RangeIndex(len(values)))
    horizon = np.arange(1, job["horizon"] + 1)
    model = NeuralForecastLSTM(
        freq=1,
        input_size=job["length"],
        inference_input_size=job["length"],
        encoder_n_layers=1,
        encoder_hidden_size=job["units"],
        decoder_hidden_size=job["units"],
        decoder_layers=1,
        max_steps=job["updates"],
        batch_size=job["batch"],
        random_seed=job["seed"],
        trainer_kwargs={
            "accelerator": "cpu",
            "logger": False,
            "enable_checkpointing": False,
            "enable_model_summary": False,
        },
    )
    begun = clock()
    model.fit(series[: job["train"]], fh=horizon)
    ended = clock()
    forecasts = []
    for origin in job["origins"]:
        names = (model.id_col, model.time_col, model.target_col)
        known = dict(zip(names, (1, np.arange(origin), values[:origin]), strict=True))
        made = model._forecaster.predict(df=pd.DataFrame(known))
        forecasts.append(made[model.algorithm_name].to_numpy()[:, None])
        if len(forecasts) == 1:
            first = since_start(job)
    return np.stack(forecasts), [None], begun, ended, first


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job, out = json.load(sys.stdin), os.dup(1)
    os.dup2(2, 1)  # what the libraries print is not the answer
    values = np.array(job["values"])
    mean, deviation = values[: job["train"]].mean(), values[: job["train"]].std()
    by = sktime if job["library"] == "sktime" else darts
    forecasts, levels, begun, ended, first = by(job, (values - mean) / deviation)
    answer = {
        "forecasts": (np.asarray(forecasts, float) * deviation + mean).tolist(),
        "levels": levels,
        "wall": ended[0] - begun[0],
        "cpu": ended[1] - begun[1],
        **first,
    }
    os.write(out, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
