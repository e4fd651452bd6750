"""Compiled programs are kept for the next command: bounded, ours alone, and never in the way."""

import os
import subprocess
import sys
import warnings

import pytest

from ostinato.cli import compiled
from ostinato.cli.output import show_warning


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_CACHE", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", raising=False)
    return compiled._folder()


def test_it_is_on_by_default_and_the_users_own_choice_wins(cache, monkeypatch):
    compiled.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(cache)
    assert cache.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    compiled.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "elsewhere"


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_to_is_not_used(cache, mode):
    cache.mkdir(parents=True)
    cache.chmod(mode)
    compiled.keep_compiled()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_a_home_that_cannot_be_written_to(cache, tmp_path):
    (tmp_path / "compiled").write_text("a file where the folder should be")
    compiled.keep_compiled()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_the_oldest_entries_make_room(cache):
    cache.mkdir(parents=True)
    for age in range(5):
        (cache / f"{age}-cache").write_bytes(bytes(100))
        os.utime(cache / f"{age}-cache", (1000 - age, 1000 - age))
    compiled.keep_compiled(max_bytes=250)
    assert sorted(os.listdir(cache)) == ["0-cache", "1-cache"]


def test_a_damaged_cache_is_emptied_without_a_word(cache, capsys):
    compiled.keep_compiled()
    (cache / "one-cache").write_bytes(b"damaged")
    show_warning(UserWarning(f"Error reading {compiled.DAMAGED} for 'jit_f': ValueError"))
    assert not os.listdir(cache) and not capsys.readouterr().err


def test_jax_uses_it_and_survives_damage(cache, tmp_path):
    """The words of JAX's warning are those that we look for."""
    code = (
        "from ostinato.cli.compiled import keep_compiled; keep_compiled()\n"
        "import warnings; from ostinato.cli.output import show_warning\n"
        "warnings.showwarning = show_warning\n"
        "import jax; print(jax.jit(lambda x: 3 * x)(2.0))"
    )
    environment = {**os.environ, "OSTINATO_CACHE": str(tmp_path), "XLA_FLAGS": ""}

    def run():
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run().stdout == "6.0\n"
    entries = [path for path in cache.iterdir() if path.is_file()]
    assert entries
    for path in entries:
        path.write_bytes(path.read_bytes()[:20])
    again = run()
    assert again.stdout == "6.0\n" and not again.stderr
    assert run().stdout == "6.0\n"
    assert all(path.stat().st_size > 20 for path in cache.iterdir() if path.is_file())


def test_a_cache_that_cannot_be_used_changes_nothing(cache, tmp_path):
    """A path that cannot be a folder, a device, and entries that are garbage, empty or folders."""
    code = (
        "from ostinato.cli.compiled import keep_compiled; keep_compiled()\n"
        "import warnings; from ostinato.cli.output import show_warning\n"
        "warnings.showwarning = show_warning\n"
        "import jax; print(jax.jit(lambda x: 3 * x)(2.0))"
    )
    environment = {**os.environ, "OSTINATO_CACHE": str(tmp_path), "XLA_FLAGS": ""}

    def run(**variables):
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=environment | variables, capture_output=True, text=True, check=False
        )

    assert run().stdout == "6.0\n"
    entries = [path for path in cache.iterdir() if path.name.endswith("cache")]
    for change in (
        lambda path: path.write_bytes(bytes(range(256))),
        lambda path: path.write_text(""),
    ):
        for path in entries:
            change(path)
        again = run()
        assert (again.stdout, again.stderr) == ("6.0\n", "")
    for path in cache.iterdir():
        path.unlink()
    for path in entries:
        path.mkdir()
    for place in (str(cache), "/proc/nothing", "/dev/full", str(tmp_path / "file")):
        (tmp_path / "file").touch()
        again = run(JAX_COMPILATION_CACHE_DIR=place)
        assert again.stdout == "6.0\n" and again.returncode == 0, (place, again.stderr)


@pytest.fixture(autouse=True)
def _warnings():
    with warnings.catch_warnings():
        yield
