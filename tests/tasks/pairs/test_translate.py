"""Translation: several translations of a line."""

import numpy as np

from ostinato.runs import Config
from ostinato.runs.build import build_task
from ostinato.tasks.pairs.write_answers import Answer

LINES = {
    "train.en": ["one", "two"] * 4,
    "train.fr": ["un\tune", "deux"] * 4,
    "test.en": ["two", "one"],
    "test.fr": ["deux", "une\tun"],
}


def test_several_translations_of_a_line(tmp_path, monkeypatch):
    for name, lines in LINES.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    named = {
        f"{part}{side}": str(tmp_path / f"{'test' if part else 'train'}.{language}")
        for part in ("", "valid_", "test_")
        for side, language in (("source", "en"), ("target", "fr"))
    }
    task = build_task(Config(task="translate", level="words", **named))
    sources, targets = task.parts["train"]
    learned = [
        (task.sources.decode(a), task.targets.decode(b))
        for a, b in zip(sources, targets, strict=True)
    ]
    assert learned == [("one", "un"), ("one", "une"), ("two", "deux")] * 4
    assert task.references("test") == ["deux", "une"]
    assert task.all_references("test") == [["deux"], ["une", "un"]]
    assert [task.targets.decode(x) for x in task.parts["test"][1]] == ["deux", "une"]
    answers = [[Answer(text, 0.0, True, np.zeros(0))] for text in ("deux", "un")]
    monkeypatch.setattr("ostinato.tasks.pairs.text_pairs.written", lambda *_: iter(answers))
    assert task.scores(None, "test")["exact, beam of 5"] == 1
    (tmp_path / "all.tsv").write_text("one\tun\tune\ntwo\tdeux\n")
    other = type(task).on_file(tmp_path / "all.tsv", task.settings, task.artefacts())
    assert other.all_references("valid") == [["un", "une"], ["deux"]]
