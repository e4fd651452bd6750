"""Microseconds per step of an LSTM in TensorFlow Lite, as JSON by name.

    python benchmarks/export_tflite.py 16 32 250

of 16 inputs, 32 units, 250 steps. Needs tensorflow (`tensorflow-cpu`) and nothing of Ostinato, so
that it runs in an environment of its own; `benchmarks/export.py --tensorflow` starts it. A step is
a model that takes and gives its state. The sequence is one call; Keras 3 is converted to a loop
(`WHILE`) and not to the fused operator.
"""

import json
import sys
import time

import numpy as np
import tensorflow as tf

from measure import seconds

BLOCKS = 30


def fastest(call, steps):
    return 1e6 * min(seconds(call, repeats=BLOCKS, warm=1, clock=time.process_time)) / steps


def interpreter(model):
    written = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    made = tf.lite.Interpreter(model_content=written, num_threads=1)
    made.allocate_tensors()
    return made


def main():
    inputs, units, steps = map(int, sys.argv[1:])
    xs = np.random.default_rng(0).normal(size=(steps, inputs)).astype(np.float32)
    x = tf.keras.Input((steps, inputs), batch_size=1)
    layer = tf.keras.layers.LSTM(units, return_sequences=True)
    whole = interpreter(tf.keras.Model(x, layer(x)))
    place = whole.get_input_details()[0]["index"]

    def sequence():
        whole.set_tensor(place, xs[None])
        whole.invoke()

    one = tf.keras.Input((inputs,), batch_size=1)
    h, c = (tf.keras.Input((units,), batch_size=1) for _ in range(2))
    _, states = tf.keras.layers.LSTMCell(units)(one, [h, c])
    step = interpreter(tf.keras.Model([one, h, c], states))
    places = [x["index"] for x in step.get_input_details()]
    outs = [x["index"] for x in step.get_output_details()]

    def by_step():
        state = [np.zeros((1, units), np.float32)] * 2
        for x in xs:
            for at, value in zip(places, [x[None], *state], strict=True):
                step.set_tensor(at, value)
            step.invoke()
            state = [step.get_tensor(at) for at in outs]

    found = {
        "TensorFlow Lite, a step": fastest(by_step, steps),
        "TensorFlow Lite, sequence": fastest(sequence, steps),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
