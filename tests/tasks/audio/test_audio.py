"""An audio effect: its loss beside NumPy's, its files, and a short run."""

import json
import os
import shutil
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ostinato import Config, open_run, train
from ostinato.data import Batch
from ostinato.data.generated.effects import effect_files, effect_pair
from ostinato.data.wav import Sound, read_wav, wav_bytes
from ostinato.errors import BadInput
from ostinato.export.run_export import export_run
from ostinato.tasks import Audio
from ostinato.tasks.audio.esr import ErrorToSignal, ErrorToSignalRatio
from studio.browser import BROWSER, Browser
from untrained import untrained_run

RNG = np.random.default_rng(0)
DRY = np.sin(np.cumsum(RNG.uniform(0.05, 0.6, 4000))).astype(np.float32) * 0.6
WET = (0.8 * np.tanh(2 * DRY + 0.1)).astype(np.float32)
SMALL = {"length": 60, "washout": 10}


def write(path, samples, rate=8000, bits=16, floats=False):
    samples = np.asarray(samples, float)
    path.write_bytes(wav_bytes(Sound(rate, samples.reshape(len(samples), -1), bits, floats)))
    return str(path)


def emphasised(x):
    return x[1:] - 0.95 * x[:-1]


def some_batch():
    """Three sequences with random weights, one of them shorter."""
    x, y, o = RNG.normal(size=(3, 20, 3, 1))
    weights = RNG.integers(0, 2, (20, 3)).astype(float)
    return o, Batch(x, y, weights, lengths=np.array([20, 20, 12]))


@pytest.mark.parametrize("residual", [False, True])
def test_the_loss_is_the_ratio_of_numpy(residual):
    o, batch = some_batch()
    above = below = 0.0
    for n, steps in enumerate(batch.lengths):
        w, e = batch.weights[:steps, n], (o - batch.targets)[:steps, n, 0]
        y = (batch.targets + residual * batch.inputs)[:steps, n, 0]
        above += np.sum(w[1:] * emphasised(e) ** 2) + np.sum(w * e) ** 2 / w.sum()
        below += np.sum(w[1:] * (emphasised(y) ** 2 + 1e-5))
    loss = ErrorToSignal(residual)
    assert float(loss(o, batch)) == pytest.approx(above / below, rel=1e-12)
    assert float(loss(batch.targets, batch)) == 0


def test_the_hessian_is_that_of_finite_differences_and_positive():
    o, batch = some_batch()
    loss = ErrorToSignal()
    product = loss.hessian(jnp.asarray(o), batch)
    gradient = jax.grad(lambda outputs: loss.total(outputs, batch))
    for _ in range(3):
        v = RNG.normal(size=o.shape)
        expected = (gradient(o + v) - gradient(o - v)) / 2  # exact, because it is quadratic
        np.testing.assert_allclose(product(v), expected, rtol=1e-9, atol=1e-9)
        assert float(np.vdot(v, product(v))) >= 0


def test_a_silent_batch_has_a_finite_loss():
    zeros, ones = np.zeros((9, 2, 1)), np.ones((9, 2))
    assert float(ErrorToSignal()(zeros + 0.1, Batch(zeros, zeros, ones))) > 1
    assert float(ErrorToSignal()(zeros, Batch(zeros, zeros, 0 * ones))) == 0
    assert (
        ErrorToSignalRatio().value(ErrorToSignalRatio().counts(zeros, Batch(zeros, zeros, ones)))
        is None
    )


@pytest.mark.parametrize("residual", [False, True])
def test_metrics_and_baselines_are_those_of_numpy(residual):
    task = Audio(DRY, WET, 8000, residual=residual, split="50/25/25", **SMALL)
    x, y = DRY[2000:3000][10:].astype(float), WET[2000:3000][10:].astype(float)
    volume = np.linalg.lstsq(x[:, None], y, rcond=None)[0]
    assert task.baselines()["dry"] == pytest.approx(
        np.sum((y - volume * x) ** 2) / np.sum(y**2), rel=1e-5
    )
    train = WET[:2000][10:].astype(float)
    assert task.chance == pytest.approx(train.var() / np.mean(train**2), rel=1e-5)
    (batch,) = Audio(
        DRY, WET, residual=residual, length=1000, washout=10, split="50/25/25"
    ).held_out("valid", 4)
    outputs = batch.targets + 0.1
    plain, emphatic = (m.value(m.counts(outputs, batch)) for m in task.metrics)
    assert plain == pytest.approx(0.01 * len(y) / np.sum(y**2), rel=1e-4)
    right = emphasised(WET[2000:3000].astype(float))[9:]
    assert emphatic == pytest.approx(0.005**2 * len(right) / np.sum(right**2), rel=1e-3)


def test_nothing_is_learned_from_held_out_samples():
    later = WET.copy()
    later[3200:] = -0.9 * later[3200:][::-1]
    one, two = (Audio(DRY, wet, 8000, split="80/10/10", **SMALL) for wet in (WET, later))
    assert one.chance == two.chance and one.artefacts() == two.artefacts()
    for index in range(3):
        for x, y in zip(one.batch(index, 4)[:3], two.batch(index, 4)[:3], strict=True):
            np.testing.assert_array_equal(x, y)
    assert one.baselines() != two.baselines()


def test_a_warm_up_does_not_count():
    task = Audio(DRY, WET, **SMALL)
    first, second = task.batch(0, 4), task.batch(1, 4)
    assert not first.weights[:10].any() and first.weights[10:].all() and first.first
    assert second.weights.all() and not second.first
    np.testing.assert_array_equal(first.inputs[-1] != second.inputs[0], True)


def pair(folder, **how):
    return {
        "task": "audio",
        "source": write(folder / "dry.wav", DRY, **how),
        "target": write(folder / "wet.wav", WET, **how),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audio")
    small = {"units": 4, "batch": 4, "steps": 30, "validate_every": 30, **SMALL}
    return train(Config(**pair(folder), **small), folder / "run")


def test_a_run_learns_and_renders(run, ostinato, tmp_path, monkeypatch):
    """From Python and by the command line, mono and stereo, the same in pieces as as a whole."""
    values = run.evaluate("test")
    assert [*values] == ["ESR", "ESR emphasised"]
    made = run.render(DRY)
    assert made.shape == (4000, 1)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in.wav", np.stack([DRY, 0.5 * DRY], axis=1), bits=32, floats=True)
    code, out, errors = ostinato("apply", run.path, "in.wav", "--out", "out.wav")
    assert (code, out) == (0, "saved in out.wav: 0.50 s at 8,000 Hz, peak " + out[-6:]), errors
    sound = read_wav("out.wav")
    assert sound.rate == 8000 and sound.samples.shape == (4000, 2) and sound.floats
    np.testing.assert_array_equal(sound.samples[:, :1], made)
    monkeypatch.setattr("ostinato.tasks.audio.audio.PIECE", 1500)
    np.testing.assert_allclose(run.render(DRY), made, atol=1e-6)
    (answer,) = run.apply(DRY[:20])
    assert json.loads(json.dumps(answer))["rate"] == 8000 and len(answer["samples"]) == 20


def test_a_run_is_evaluated_on_a_file_of_two_channels(run, ostinato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pair.wav", np.stack([DRY, WET], axis=1))
    code, out, errors = ostinato("evaluate", run.path, "pair.wav", "--json")
    assert code == 0 and "ESR emphasised" in out, errors
    write(tmp_path / "other.wav", np.stack([DRY, WET], axis=1), rate=9000)
    code, _, errors = ostinato("evaluate", run.path, "other.wav")
    assert code and "9,000 samples per second" in errors and errors.count("\n") == 1


def test_what_cannot_be_rendered_is_refused(run, ostinato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "fast.wav", DRY, rate=48000)
    write(tmp_path / "in.wav", DRY)
    for arguments, words in {
        ("fast.wav", "--out", "a.wav"): "48,000 samples per second; the network has learned 8,000",
        ("in.wav", "--out", "a.npy"): "--out must be an .wav file, got a.npy",
        ("in.wav", "--out", "in.wav"): "in.wav",
        ("no.wav", "--out", "a.wav"): "there is no file no.wav",
        ("in.wav", "--steps", "3"): "--steps means nothing",
        ("--out", "a.wav"): "standard input",
    }.items():
        code, _, errors = ostinato("apply", run.path, *arguments)
        assert code and words in errors and errors.count("\n") == 1, (arguments, errors)
    assert not (tmp_path / "a.wav").exists()
    for wrong in ([], [[[1.0]]], ["a"], [np.nan], [1, 2], np.zeros((3, 0)), [[1.0], [1.0, 2.0]]):
        with pytest.raises(BadInput, match="the sound must be finite floats"):
            run.render(wrong)


def test_pairs_that_do_not_fit_are_refused_in_one_line(tmp_path):
    good = pair(tmp_path)
    files = {
        "stereo": write(tmp_path / "stereo.wav", np.stack([WET, WET], axis=1)),
        "mono": good["target"],
        "short": write(tmp_path / "short.wav", WET[:-7]),
        "fast": write(tmp_path / "fast.wav", WET, rate=48000),
        "silent": write(tmp_path / "silent.wav", 0 * WET),
        "late": write(tmp_path / "late.wav", WET * (np.arange(4000) < 3000)),
    }
    for given, words in (
        ({"target": files["stereo"]}, "has 2 channels; save one of them, or add --mix"),
        ({"target": files["short"]}, "4,000 samples and the wet one 3,993"),
        ({"target": files["fast"]}, "one sample rate"),
        ({"target": files["silent"]}, r"wet sound is silent from 0\.00 to 0\.40 s \(train\)"),
        ({"source": files["silent"]}, "the dry sound is silent"),
        ({"target": files["late"]}, r"silent from 0\.40 to 0\.45 s \(valid\)"),
        ({"target": None}, "a pair of WAV files"),
        ({"file": files["stereo"]}, "is a pair of sounds"),
        ({"file": files["mono"], "source": None, "target": None}, "has 1 channels; give two"),
        ({"washout": 60}, "washout must be below length, 60, got 60"),
        ({"washout": 500, "length": 600}, "no more than the washout"),
        ({"length": 1}, "length must be at least 2"),
        ({"split": "100/0"}, "split must read like"),
        ({"residual": 3}, "residual must be"),
    ):
        config = {**good, **SMALL, "units": 2, **given}
        with pytest.raises(BadInput, match=words) as refused:
            chosen = Config(**{k: v for k, v in config.items() if v is not None})
            chosen.task.kind.from_settings(chosen.task.settings, 0)
        assert "\n" not in str(refused.value)
    for dry, wet in (([1, 2], WET), (DRY, None), (DRY[None], WET), (DRY * np.inf, WET), ("a", WET)):
        with pytest.raises(BadInput, match="must be finite floats"):
            Audio(dry, wet)
    with pytest.raises(BadInput, match="rate"):
        Audio(DRY, WET, 0)


def test_stereo_is_mixed_on_request_and_clipping_is_said(tmp_path):
    both = write(tmp_path / "both.wav", np.stack([2 * WET, 0 * WET], axis=1), bits=32, floats=True)
    loud = write(tmp_path / "loud.wav", np.clip(9 * DRY, -1, 1))
    config = Config(task="audio", source=loud, target=both, mix=True, **SMALL)
    task = config.task.kind.from_settings(config.task.settings, 0)
    assert task.notes == (
        f"{loud} is at full scale for several samples in a row; was it clipped?",
        f"{both} is at full scale for several samples in a row; was it clipped?",
        f"the channels of {both} are mixed into one",
    )
    np.testing.assert_allclose(task.parts["train"].targets[:, 0], WET[:3200], atol=1e-6)


def test_one_file_of_two_channels_is_a_pair_too(tmp_path):
    path = write(tmp_path / "pair.wav", np.stack([DRY, WET], axis=1), bits=32, floats=True)
    config = Config(file=path, **SMALL)
    assert config.task.name == "audio" and config.cell.name == "lstm"
    task = config.task.kind.from_settings(config.task.settings, 0)
    np.testing.assert_allclose(task.parts["train"].targets[:, 0], WET[:3200], atol=1e-6)


def test_the_built_in_effect_is_a_filtered_distortion():
    """Its first samples, by the equations of Butterworth filters written out in NumPy."""
    dry, wet = effect_pair(seconds=0.02)
    rate = 44100

    def second_order(x, hertz):
        k = np.tan(np.pi * hertz / rate)
        a0 = 1 + np.sqrt(2) * k + k * k
        b, a1, a2 = k * k / a0, 2 * (k * k - 1) / a0, (1 - np.sqrt(2) * k + k * k) / a0
        y = np.zeros(len(x) + 2)
        x = np.concatenate([[0, 0], x])
        for t in range(2, len(x)):
            y[t] = b * (x[t] + 2 * x[t - 1] + x[t - 2]) - a1 * y[t - 1] - a2 * y[t - 2]
        return y[2:]

    k, high, before, after = np.tan(np.pi * 150 / rate), [], 0.0, 0.0
    for x in dry.astype(float):
        after = ((x - before) - (k - 1) * after) / (k + 1)
        before = x
        high.append(after)
    bent = np.tanh(6 * np.array(high) + 0.3) - np.tanh(0.3)
    np.testing.assert_allclose(wet, 0.7 * second_order(bent, 4000), atol=1e-5)


def test_the_pair_is_made_by_a_command(ostinato, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, errors = ostinato("data", "make", "effect", "--to", "my")
    assert (code, out) == (0, "my-dry.wav\nmy-wet.wav\n"), errors
    assert {end: (tmp_path / f"my{end}").read_bytes() for end in ("-dry.wav", "-wet.wav")} == (
        effect_files()
    )
    (tmp_path / "my-wet.wav").write_bytes(b"mine")
    (tmp_path / "my-dry.wav").unlink()
    code, _, errors = ostinato("data", "make", "effect", "--to", "my")
    assert code and "my-wet.wav is there already" in errors
    assert not (tmp_path / "my-dry.wav").exists()


def test_the_report_draws_the_waves(run):
    again = open_run(run.path)
    (plot,) = again.task().plots(again.network())
    assert [*plot.lines] == ["dry", "wet", "network"]
    assert {len(line) for line in plot.lines.values()} == {len(plot.x)} == {96}
    assert again.task().preview(again.network(), None).count("\n") == 2


@pytest.fixture(scope="module")
def residual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("residual")
    task = Audio(DRY, WET, 8000, residual=True, **SMALL)
    return untrained_run(Config(cell="gru", units=3), folder / "run", task)


@pytest.mark.parametrize("which", ["run", "residual"])
def test_the_effect_in_c_plays_every_form_of_wav(which, request, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    run = request.getfixturevalue(which)
    export_run(run, "c", tmp_path / "effect")
    strict = ["-O2", "-Wall", "-Wextra", "-Werror", "-std=c99", "-fsanitize=address,undefined"]
    command = ["cc", *strict, "effect.c", "-o", "effect", "-lm"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[:2000]

    # The program allocates nothing, and looking for leaks takes seconds.
    quick = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}

    def play(content):
        program = [tmp_path / "effect"]
        return subprocess.run(program, input=content, capture_output=True, env=quick, check=False)

    both = np.stack([DRY, -DRY], axis=1)
    for bits, floats in ((16, False), (24, False), (32, False), (32, True)):
        content = wav_bytes(Sound(8000, both, bits, floats))
        (tmp_path / "in.wav").write_bytes(content)
        ran = play(content)
        (tmp_path / "out.wav").write_bytes(ran.stdout)
        sound = read_wav(tmp_path / "out.wav")
        assert ran.returncode == 0 and sound.rate == 8000 and not ran.stderr
        np.testing.assert_allclose(sound.samples, run.render(tmp_path / "in.wav"), atol=2e-5)
    good = wav_bytes(Sound(8000, both))
    for content, words in (
        (b"", "not a WAV file"),
        (b"RIFF", "not a WAV file"),
        (good[:20], "ends too early"),
        (good[:-5], "ends too early"),
        (good[:36], "holds no sound"),
        (wav_bytes(Sound(44100, both)), "8000 samples per second"),
        (wav_bytes(Sound(8000, both, 8, False)), "PCM of 16"),
        (wav_bytes(Sound(8000, both, 64, True)), "PCM of 16"),
    ):
        ran = play(content)
        assert ran.returncode == 2 and words in ran.stderr.decode(), words
        assert ran.stderr.count(b"\n") == 1


def test_the_effect_streams_sample_by_sample(run, residual):
    for one in (run, residual):
        stream = one.stream()
        made = [stream.step(float(x)) for x in DRY[:50]]
        np.testing.assert_allclose(made, one.render(DRY[:50])[:, 0], atol=1e-6)


def test_the_effect_is_a_page(run, tmp_path):
    """In a browser it plays a sound as the run renders it, and says what it cannot read."""
    (page,) = export_run(run, "html", tmp_path / "effect")
    text = page.read_text(encoding="utf-8")
    assert '{"rate": 8000, "residual": false}' in text and "<!-- " not in text
    if BROWSER is None:
        pytest.skip("there is no browser")
    browser = Browser()
    try:
        browser.open(f"file://{page}")
        content = [*wav_bytes(Sound(8000, DRY[:500, None]))]
        browser.run(f"apply(new File([new Uint8Array({content})], 'a.wav'))")
        made = browser.run(
            "fetch(document.querySelectorAll('audio')[1].src).then((x) => x.arrayBuffer())"
            ".then((x) => Array.from(new Float32Array(x, 44)))"
        )
        np.testing.assert_allclose(made, run.render(DRY[:500])[:, 0], atol=1e-5)
        browser.run("apply(new File(['no sound'], 'a.txt'))")
        assert browser.text("#wrong") == "a.txt is no sound that this browser can read."
    finally:
        browser.close()
