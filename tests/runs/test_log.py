"""One reader: a log that is damaged, long or growing is read the same by all who read it."""

import asyncio
import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ostinato.runs.folder.digest import Digest
from ostinato.runs.folder.events import KINDS, Look, Train, Valid, of_form
from ostinato.runs.folder.listing import Summary, listed
from ostinato.runs.folder.log import CHUNK, Log, add_event, read_events
from ostinato.studio.follow import Watcher
from studio.pages import START, train_event, write_run

LOOK = {"kind": "lens", "step": 2, "lags": [0, 1], "gradient": {".cell": [1.0, 0.5]}}
GOOD = [
    START,
    train_event(1),
    {"kind": "valid", "step": 1, "value": 2.0},
    {**LOOK, "memory": {".cell": 1}},
    train_event(2, 1.5),
    {"kind": "valid", "step": 2, "value": 1.0, "preview": "text"},
    {"kind": "end", "step": 2, "reason": "done", "seconds": 3.0},
]
DAMAGED = {
    "rubbish": bytes(range(0x80, 0x100)) * 3,
    "zeros": b"\x00" * 100,
    "torn": json.dumps(train_event(1, 9.0)).encode()[:-9],
    "two in a line": 2 * json.dumps({"kind": "valid", "step": 1, "value": 0.1}).encode(),
    "NaN": b'{"kind": "train", "step": 1, "loss": NaN}',
    "NaN of a validation": b'{"kind": "valid", "step": 1, "value": -Infinity}',
    "no loss": b'{"kind": "train", "step": 1, "norm": 1.0}',
    "no value": b'{"kind": "valid", "step": 1}',
    "no reason": b'{"kind": "end", "step": 1}',
    "words for a number": b'{"kind": "valid", "step": 1, "value": "0.1"}',
    "truth for a number": b'{"kind": "train", "step": 1, "loss": true}',
    "a list": b'["valid", 1, 0.1]',
    "no kind": b'{"step": 1, "value": 0.1}',
    "half a step": b'{"kind": "valid", "step": 1.5, "value": 0.1}',
    "a step before the first": b'{"kind": "valid", "step": -1, "value": 0.1}',
    "a step past all": b'{"kind": "valid", "step": %d, "value": 0.1}' % 10**40,
    "a number past all": b'{"kind": "train", "step": 1, "loss": 1e999}',
    "deep": b"[" * 50_000,
    "huge": b"x" * (CHUNK + 7),
}


numbers = some.integers(0, 4).map(float)
moves = some.sampled_from(("step", "valid", "step", "valid", "resume", "start"))


def lines(events):
    return [json.dumps(event).encode() for event in events]


def messages(run):
    """What pages hear of a log, from its beginning."""

    async def heard():
        watcher = Watcher(run)
        watcher.log.offset = watcher.offset = watcher.begin = 0
        while watcher.log.size() > watcher.offset:
            before = watcher.offset
            watcher._keep(*watcher._read())
            if watcher.offset == before:
                break
        return [json.loads(words.partition(b"data: ")[2]) for _, words in watcher.kept]

    return asyncio.run(heard())


def check(run, good):
    """All readers find these events, and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_events(run) == good
    digest = Digest(run).read()
    for form in (Train, Valid, Look):
        assert of_form(digest.events(), form) == of_form(good, form)
    assert (digest.start["parameters"], digest.best["value"], digest.latest) == (1234, 1.0, 3.0)
    summary = Summary(run / "events.jsonl")
    summary.read()
    assert (summary.state, summary.best, summary.step) == ("done", 1.0, 2)
    one = listed(run)
    assert (one.state, one.best, one.steps, one.seconds) == ("done", 1.0, 2, 3.0)
    short = [{"kind": "lens", "step": e["step"]} if e["kind"] == "lens" else e for e in good]
    assert messages(run) == [event for event in short if event["kind"] in KINDS]


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_line_is_skipped_by_all_readers(line, tmp_path):
    good = lines(GOOD)
    run = write_run(tmp_path / "run")
    for place in (0, 3, len(good)):
        (run / "events.jsonl").write_bytes(b"\n".join([*good[:place], line, *good[place:], b""]))
        check(run, GOOD)
        with pytest.warns(RuntimeWarning, match=f"events.jsonl: line {place + 1} cannot be read"):
            read_events(run)
    (run / "events.jsonl").write_bytes(b"\n".join([*good, line]))
    check(run, GOOD)  # a last line may still be written, so that nobody is warned


def test_a_last_line_that_lacks_only_its_end_counts(tmp_path):
    run = write_run(tmp_path / "run")
    (run / "events.jsonl").write_bytes(b"\n".join(lines(GOOD)))
    check(run, GOOD)
    add_event(run, {"kind": "mine", "step": 2})
    check(run, [*GOOD, {"kind": "mine", "step": 2}])


def test_a_kind_of_somebody_else_does_no_harm(tmp_path):
    mine = {"kind": "mine", "step": 1, "seconds": "many", "value": [1, 2]}
    check(write_run(tmp_path / "run", [GOOD[0], mine, *GOOD[1:]]), [GOOD[0], mine, *GOOD[1:]])


def test_the_best_before_a_resume_is_found_among_many_validations(tmp_path):
    """Of very many validations a list keeps a few, and all that were the best so far."""
    values = [5.0, 1.0, *(2.0 + 1 / n for n in range(1, 2000)), 0.5]
    valid = [{"kind": "valid", "step": n, "value": value} for n, value in enumerate(values, 1)]
    run = write_run(tmp_path / "run", [START, *valid])
    assert listed(run).best == 0.5
    add_event(run, {**START, "kind": "resume", "step": 2000})
    assert listed(run).best == 1.0


@given(some.lists(some.tuples(moves, numbers), min_size=4, max_size=16))
@settings(max_examples=60, deadline=None)
def test_all_readers_forget_what_a_resume_supersedes(tmp_path_factory, history):
    """Of any history, whether it is read at the end or as it comes."""
    events, step, best = [START], 0, []
    for move, number in history:
        if move == "step":
            events.append(train_event(step := step + 1, number))
        elif move == "valid":
            events.append({"kind": "valid", "step": step, "value": number})
            best.append((step, number))
        else:
            step = min(step, int(number)) if move == "resume" else 0
            events.append({**START, "kind": move, "step": step, "steps": int(number)})
            best = [one for one in best if move == "resume" and one[0] <= step]
    run = write_run(tmp_path_factory.mktemp("log") / "run", [])
    live, listed_live = Digest(run), Summary(run / "events.jsonl")
    for event in events:
        add_event(run, event)
        live = live.read()
        listed_live.read()
    kept = read_events(run)
    value = min((number for _, number in best), default=None)
    assert min((e["value"] for e in of_form(kept, Valid)), default=None) == value
    summary = Summary(run / "events.jsonl")
    summary.read()
    for fold in (Digest(run).read(), live):
        for form, name in ((Train, "loss"), (Valid, "value")):
            theirs = [(e["step"], e[name]) for e in of_form(fold.events(), form)]
            assert theirs == [(e["step"], e[name]) for e in of_form(kept, form)]
        assert (fold.best["value"] if fold.best else None) == value
        assert fold.start["steps"] == summary.start["steps"] == listed_live.start["steps"]
    assert summary.best == listed_live.best == value


def test_what_is_new_comes_in_chunks_of_whole_lines(tmp_path):
    """Lines without end do not fill the memory, and each byte is read once."""
    path, line = tmp_path / "log", json.dumps(train_event(1)).encode()
    path.write_bytes(line + b"\n" + b"x" * (3 * CHUNK) + b"\n" + line + b"\nhalf")
    log = Log(path)
    found = [*log.chunks()]
    assert max(map(len, found)) <= 2 * CHUNK and sum(chunk.count(line) for chunk in found) == 2
    assert log.offset == path.stat().st_size - len("half") and not log.is_another()
    assert [*log.chunks()] == []
    with open(path, "ab") as file:
        file.write(b"\n" + line + b"\n" + line)
    assert [*log.lines()] == [
        (path.stat().st_size - 2 * len(line) - 1, b"half"),
        (path.stat().st_size - len(line), line),
        (path.stat().st_size, line),
    ]
    path.write_bytes(line + b"\n")
    assert log.is_another()
