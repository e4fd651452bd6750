"""The sketch of examples/arduino, on a board that has only the functions that it calls."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

SKETCH = Path(__file__).parents[2] / "examples" / "arduino"
BOARD = """
#include <stdio.h>
#include <stdlib.h>
enum { A0 = 14, OUTPUT = 1, LOW = 0, HIGH = 1 };
static int light = -1;
static void pinMode(int pin, int mode) { if (pin != 13 || mode != OUTPUT) exit(1); }
static int analogRead(int pin) { int x; if (pin != A0 || scanf("%d", &x) != 1) exit(1); return x; }
static void digitalWrite(int pin, int value) { if (pin == 13) light = value; }
static void delay(unsigned long time) { if (time != 3600000UL) exit(1); }
#include "forecaster.ino"
int main(void) {
  setup();
  for (int n = 0; n < 200; n++) {
    loop();
    printf("%.9g %d\\n", (double)forecast, light);
  }
  return 0;
}
"""
AVR = """
#include <stdint.h>
enum { A0 = 14, OUTPUT = 1, LOW = 0, HIGH = 1 };
extern "C" { void pinMode(int, int); int analogRead(int); void digitalWrite(int, int);
void delay(unsigned long); }
#include "forecaster.ino"
"""


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("make_arduino", SKETCH / "make.py")
    spec.loader.exec_module(found := importlib.util.module_from_spec(spec))
    return found


@pytest.fixture(scope="module", params=[32, 8])
def made(request, example, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sketch")
    shutil.copy(SKETCH / "forecaster" / "forecaster.ino", folder)
    return example.make(folder, folder, steps=5, bits=request.param), folder, request.param


@pytest.mark.parametrize("compiler, standard", [("cc", "c99"), ("c++", "c++11")])
def test_the_sketch_forecasts_as_the_stream_does(compiler, standard, made, example):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    run, folder, bits = made
    (folder / "board.c").write_text(BOARD)
    strict = ["-Os", "-Wall", "-Wextra", "-Werror", f"-std={standard}", "-x", standard[:-2]]
    command = [compiler, *strict, "board.c", "-o", standard, "-lm"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:2000]
    given, stream = example.readings(200), run.stream()
    words = " ".join(str(int(x)) for x in given)
    ran = subprocess.run(
        [folder / standard], input=words, capture_output=True, text=True, check=True
    )
    told = np.array([line.split() for line in ran.stdout.splitlines()], float)
    expected = np.array([stream.step([x]).values.item() for x in given])
    # With 8 bits a forecast is off by at most a fiftieth of how far the forecasts go.
    allowed = 1e-5 * np.abs(expected).max() if bits == 32 else 0.02 * np.ptp(expected)
    np.testing.assert_allclose(told[:, 0], expected, atol=allowed, rtol=0)
    assert (told[:, 1] == (told[:, 0] > 650)).all()


def test_the_sketch_as_it_stands_fits_an_uno(tmp_path):
    """Compiled for the board itself, whose whole numbers have 16 bits, with all warnings."""
    if shutil.which("avr-g++") is None:
        pytest.skip("there is no compiler for the board")
    (tmp_path / "sketch.cpp").write_text(AVR)
    command = ["avr-g++", "-Os", "-mmcu=atmega328p", "-std=gnu++11", "-Wall", "-Wextra", "-Werror"]
    command += ["-I", SKETCH / "forecaster", "-c", "sketch.cpp", "-o", "sketch.o"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:2000]
    sized = subprocess.run(["avr-size", tmp_path / "sketch.o"], capture_output=True, text=True)
    text, data, bss = map(int, sized.stdout.splitlines()[1].split()[:3])
    assert text + data < 8192 and data + bss < 1024
