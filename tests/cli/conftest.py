"""A finished run that the verbs are tried on."""

import pytest

from ostinato.runs import Config, train

TEXT = "the cat sat on the mat.\nthe rat ran to the cat.\n" * 12


@pytest.fixture(scope="session")
def cat_run(tmp_path_factory):
    """The folder of a run of a few steps on a small text; tests only read it."""
    folder = tmp_path_factory.mktemp("cat")
    (folder / "text.txt").write_text(TEXT)
    config = Config(
        file=str(folder / "text.txt"), split="80/10/10", units=4, batch=4, length=10, steps=4
    )
    return train(config, folder / "run").path


@pytest.fixture(scope="session")
def adding_run(tmp_path_factory):
    """The folder of a run that has nothing to do with text."""
    config = Config(task="adding", length=5, units=4, batch=16, steps=1)
    return train(config, tmp_path_factory.mktemp("adding") / "run").path
