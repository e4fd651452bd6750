"""`ostinato evolve` from the command line, and training the cell that it wrote."""

import json

TINY = "--tasks adding:length=4 --units 3 --steps 1 --rungs 1".split()


def test_a_search_and_its_cell(ostinato):
    code, out, _ = ostinato("evolve", *TINY, "--evaluations", 2)
    assert code == 0 and out.startswith("tried 2 cells; the best is cell ")
    code, out, _ = ostinato(
        "evolve", "--resume", "--folder", "runs/evolve-1", "--evaluations", 3, "--json"
    )
    found = json.loads(out)
    assert code == 0 and found["cells"] == 3 and found["best"]["equations"]
    page = open(found["page"], encoding="utf-8").read()
    assert "<svg" in page and "http" not in page
    settings = "--task adding --length 4 --units 3 --steps 1 --batch 2 --json".split()
    code, out, err = ostinato("train", "--cell", "runs/evolve-1/best.py:Evolved", *settings)
    assert code == 0, err
    assert json.loads(out)["kind"] == "end"


def test_one_line_for_bad_input(ostinato):
    for words, arguments in {
        "--resume needs --folder": ["--resume"],
        "there is no task 'nope'": ["--tasks", "nope"],
        "runs/other has no search to continue": ["--resume", "--folder", "runs/other"],
        "--seed must be from 0": ["--seed", -1],
    }.items():
        code, out, err = ostinato("evolve", *arguments)
        assert code == 2 and words in err and len(err.splitlines()) == 1 and not out
