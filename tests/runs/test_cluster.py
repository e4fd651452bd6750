"""Many runs on a Ray cluster give the same results, whatever is lost on the way.

Here the workers are threads of this process, behind the same connection; `test_ray.py` has a real
cluster.
"""

import os
import pickle
import sys
import threading
import time
import types
from importlib.machinery import ModuleSpec
from multiprocessing import Pipe

import pytest

from ostinato.contrast import Spec, contrast
from ostinato.errors import BadInput, NeedsExtra
from ostinato.evolve import Budget, Plan, evolve, search
from ostinato.evolve.ancestry import FILE
from ostinato.experiments import RECIPES, Job, reproduce
from ostinato.files import locked
from ostinato.runs.loop.signals import Interrupted, Stop
from ostinato.runs.many import cluster as clusters
from ostinato.runs.many.cluster import MARK, Call, Cluster, answered, connected


class Connection:
    """Stands for the process that is connected to Ray.

    Attributes:
        machines: what they have, as Ray says it.
        losses: how many connections end at their first call.
        refusal: why no connection is made.
    """

    def __init__(self, machines, losses=0, refusal=None):
        self.machines, self.losses, self.refusal = machines, losses, refusal
        self.started = self.cancelled = 0
        self.needs = []

    def start(self, address):
        own, other = Pipe()
        self.started += 1
        threading.Thread(target=self._serve, args=(other,), daemon=True).start()
        return types.SimpleNamespace(kill=lambda: None, wait=lambda seconds=0: None), own

    def _serve(self, command):
        if self.refusal is not None:
            command.send(("refused", self.refusal))
            return
        with command:
            try:
                while True:
                    command.send(("alive", self.machines))
                    while command.poll(0.02):
                        kind, *said = command.recv()
                        if kind == "call" and any(x.get("CPU") for x in self.machines):
                            if self.losses:
                                self.losses -= 1
                                return
                            number, what, needs = said
                            self.needs.append(needs)
                            command.send(("done", number, answered(what)))
                        self.cancelled += kind == "cancel"
            except (OSError, EOFError):
                pass


@pytest.fixture
def connect(monkeypatch):
    """Makes connections that end in this process, whether Ray is installed or not."""
    ray = types.ModuleType("ray")
    ray.__spec__, ray.cloudpickle = ModuleSpec("ray", None), pickle
    monkeypatch.setitem(sys.modules, "ray", ray)
    # As a worker sets it, so that what is compiled here serves both.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_deterministic_ops=true"
    monkeypatch.setenv("XLA_FLAGS", flags)
    search._problems.cache_clear()

    def connect(*machines, **more):
        made = Connection(list(machines), **more)
        monkeypatch.setattr(clusters, "_started", made.start)
        return made

    return connect


def double(x):
    return 2 * x


def refuse(words):
    raise BadInput(words)


def interrupt(done=[]):  # noqa: B006
    done.append(1)
    if len(done) == 1:
        raise Interrupted(15)
    return len(done)


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def fail(x):
    raise Odd(x, x)


def results(cluster, function, *arguments):
    for n, argument in enumerate(arguments):
        cluster.submit(Call(n, function, argument))
    return dict(cluster.results())


def test_without_ray_there_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(NeedsExtra, match=r"--ray needs ray: pip install '\.\[cluster\]'"),
        connected("local", tmp_path),
    ):
        pass


BAD = [
    "",
    "foo",
    "h:",
    ":1",
    "h:0",
    "h:65536",
    "h:-1",
    "h:1.5",
    "h:²",
    "h:1e3",
    "\0:1",
    "é" * 99 + ":1",
]
BAD += ["127.0.0.1:1", "no.such.host.invalid:6379", "[::1]:1", "256.1.1.1:80", "h :1", "a..b:1"]


@pytest.mark.parametrize("address", BAD)
def test_an_address_without_a_cluster_is_one_line(connect, tmp_path, address):
    made = connect({"CPU": 1.0})
    with pytest.raises(BadInput, match=r"^(--ray must be|there is no Ray cluster at)") as error:
        Cluster(address, tmp_path)
    assert "\n" not in str(error.value) and not made.started


def test_what_ray_refuses_is_one_line_and_makes_no_folder(connect, tmp_path):
    connect(refusal="Version mismatch: Ray: 1.0, Python: 3.8")
    with pytest.raises(BadInput, match=r"no Ray cluster at auto: Version mismatch"):
        contrast(SPEC, tmp_path / "new", ray="auto")
    assert not (tmp_path / "new").exists()


def test_calls_give_values_and_errors(connect, tmp_path):
    connect({"CPU": 2.0}, {"CPU": 3.0})
    with connected("local", tmp_path / "shared") as cluster:
        assert results(cluster, double, (1,), (2,), (3,)) == {0: 2, 1: 4, 2: 6}
        assert results(cluster, interrupt, ()) == {0: 2}  # by the machine, so it is called again
        with pytest.raises(BadInput, match=r"^no such task$"):
            results(cluster, refuse, ("no such task",))
        with pytest.raises(RuntimeError, match="Odd: 1"):
            results(cluster, fail, (1,))
        assert cluster.slots == 5 and (tmp_path / "shared" / MARK).exists()
    assert not (tmp_path / "shared" / MARK).exists()


def test_runs_are_packed_on_a_gpu_and_have_a_core_each_without(connect, tmp_path):
    for machines, sizes in [
        ([{"CPU": 8.0}, {"CPU": 2.0}, {"memory": 1.0}], [2, 2, 1]),
        ([{"CPU": 8.0, "GPU": 2.0}, {"CPU": 1.0}], [5]),
    ]:
        made = connect(*machines)
        with connected("local", tmp_path) as cluster:
            parts = cluster.split(range(5))
            assert [len(part) for part in parts] == sizes
            for part in parts:
                cluster.submit(Call(None, len, (part,), cores=len(part)))
            assert sum(value for _, value in cluster.results()) == 5
        packed = {"num_gpus": 1} if len(sizes) == 1 else {"num_cpus": sizes[0]}
        assert made.needs[0] == packed


def test_cells_share_a_gpu(connect, tmp_path, monkeypatch):
    """On two GPUs eight calls are under way, each on a quarter of one, which it does not fill."""
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    made = connect({"CPU": 8.0, "GPU": 2.0})
    with connected("local", tmp_path) as cluster:
        assert (cluster.slots, cluster.room(1), cluster.room(search.SHARE)) == (2, 2, 8)
        cluster.submit(Call(0, double, (4,)))
        assert dict(cluster.results()) == {0: 8}
        assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "true"
        cluster.submit(Call(1, double, (4,), share=search.SHARE))
        assert dict(cluster.results()) == {1: 8}
        assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert made.needs == [{"num_gpus": 1}, {"num_gpus": 0.25}]


def test_cells_are_trained_alike_on_a_cluster(connect, tmp_path):
    budget = Budget(rungs=1, steps=2, batch=4, units=4, seeds=1, rates=(0.01,))
    plan = Plan(("adding:length=5",), evaluations=2, budget=budget)
    (tmp_path / "alone").mkdir()
    alone, _ = evolve(plan, tmp_path / "alone")
    made = connect({"CPU": 4.0, "GPU": 1.0})
    found, _ = evolve(plan, tmp_path / "ray", ray="local")
    assert [entry.scores for entry in found] == [entry.scores for entry in alone]
    assert made.needs == [{"num_gpus": search.SHARE}] * 2


def test_a_head_that_is_lost_is_found_again(connect, tmp_path, monkeypatch):
    made = connect({"CPU": 1.0}, losses=2)
    with connected("local", tmp_path) as cluster:
        assert results(cluster, double, (1,), (2,)) == {0: 2, 1: 4}
        made.losses = 1
        assert results(cluster, double, (5,)) == {0: 10}
    assert made.started == 4
    made = connect({"CPU": 1.0}, losses=1000)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with (
        pytest.raises(BadInput, match=r"was lost; what is finished is kept, and the same command"),
        connected("local", tmp_path) as cluster,
    ):
        results(cluster, double, (1,))
    monkeypatch.setattr(clusters, "PATIENCE", 0.0)
    made = connect({"CPU": 1.0}, losses=1)
    with connected("local", tmp_path) as cluster:
        made.refusal = "it is gone"
        with pytest.raises(BadInput, match=r"was lost; what is finished .* local: it is gone\)$"):
            results(cluster, double, (1,))


def test_a_cluster_that_has_no_room_or_is_silent_is_given_up(connect, tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 0.1)
    connect({"CPU": 0.0}, {})
    with (
        pytest.raises(BadInput, match=r"^the Ray cluster at local has had no CPU for"),
        connected("local", tmp_path) as cluster,
    ):
        results(cluster, double, (1,))
    pipe = Pipe()
    process = types.SimpleNamespace(kill=lambda: None, wait=lambda seconds=0: None)
    monkeypatch.setattr(clusters, "_started", lambda address: (process, pipe[0]))
    monkeypatch.setattr(clusters.Cluster._hear, "__defaults__", (0.1,))
    with pytest.raises(BadInput, match=r"^there is no Ray cluster at local: no answer within"):
        Cluster("local", tmp_path)


def test_a_signal_ends_it(connect, tmp_path):
    connect({"CPU": 1.0})
    stop = Stop()
    stop.number = 15
    with pytest.raises(Interrupted), connected("local", tmp_path) as cluster:
        cluster.next(stop)


def test_a_worker_that_differs_refuses(connect, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(Cluster, "_tell", lambda self, *said: asked.append(said))
    connect({"CPU": 1.0})
    with connected("local", tmp_path) as cluster:
        cluster.submit(Call(0, double, (4,), [tmp_path / "run"]))
        _, _, what, _ = asked[0]
        kind, value = answered(what)
        assert kind == "value" and pickle.loads(value) == 8

        def refusal(**changes):
            kind, words = answered({**what, **changes})
            assert kind == "refused" and words.startswith("the machine ") and "\n" not in words
            return words

        def other(**changes):
            return refusal(facts={**what["facts"], **changes})

        assert "of the cluster has python 3." in other(python="3.8.1")
        assert ", where the command was started 0.0.1; install" in other(ostinato="0.0.1")
        assert "has other code of Ostinato, " in other(code="abc")
        assert "has no folder /nowhere" in refusal(here="/nowhere")
        monkeypatch.setattr(clusters, "SHOWN", 0.1)
        (tmp_path / "same name").mkdir()
        for folder in ("same name", "nowhere"):
            words = refusal(mark=(f"{tmp_path / folder / MARK}", what["mark"][1]))
            assert f"does not see {tmp_path / folder}; all machines must share it" in words


def test_a_worker_waits_for_one_that_is_given_up(connect, tmp_path):
    connect({"CPU": 1.0})
    run = tmp_path / "run"
    run.mkdir()
    held, done = threading.Event(), threading.Event()

    def hold():
        with locked(run):
            held.set()
            done.wait(0.5)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with connected("local", tmp_path) as cluster:
        cluster.submit(Call(0, clusters.is_locked, (run,), [run]))
        assert dict(cluster.results()) == {0: False}
    holder.join()


SPEC = Spec.from_dict(
    {
        "cells": ["simple"],
        "tasks": ["adding"],
        "trials": 0,
        "seeds": 2,
        "budget": 60,
        "settings": {"length": 5, "batch": 4, "steps": 3},
    }
)


def without_time(result):
    found = result.as_json()
    for group in found["groups"]:
        for row in group["rows"]:
            del row["seconds"]
    return found


def test_a_contrast_is_the_same(connect, tmp_path):
    connect({"CPU": 1.0}, losses=1)
    heard = []
    alone = contrast(SPEC, tmp_path / "alone")
    spread = contrast(SPEC, tmp_path / "ray", ray="local", listener=lambda *x: heard.append(x))
    assert without_time(spread) == without_time(alone)
    assert [event["kind"] for _, event in heard] == ["end"] * 2
    assert [run.relative_to(tmp_path / "ray").as_posix() for run, _ in heard] == [
        "seeds/simple/1",
        "seeds/simple/2",
    ]


def test_a_reproduction_is_the_same(connect, tmp_path):
    connect({"CPU": 1.0})
    found = RECIPES["toy-net"]
    job = Job(tmp_path / "alone")
    spread = reproduce(found, Job(tmp_path / "ray"), "local")
    assert reproduce(found, job) == spread
    pages = [(tmp_path / name / "report.html").read_text() for name in ("alone", "ray")]
    assert pages[0] == pages[1]


class Pretended:
    """A problem that needs no training: progress is a function of the graph."""

    def __init__(self, task, budget):
        self.budget, self.seed = budget, task.length

    def run(self, graph):
        known = hash((self.seed, graph)) % 1000 / 1000
        for rung in range(self.budget.rungs):
            yield known * (rung + 1) / self.budget.rungs


MACHINES = [{"CPU": 1.0}, {"CPU": 2.0}, {"CPU": 7.0}, {"CPU": 4.0, "GPU": 1.0}]
SEARCH = Plan(("adding:length=4", "adding:length=5"), population=3, budget=Budget(rungs=3))


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """What a search without a cluster writes."""
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "Problem", Pretended)
        search._problems.cache_clear()
        evolve(SEARCH, folder, 30)
    search._problems.cache_clear()
    return (folder / FILE).read_bytes()


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_search_is_the_same_however_many_cells_there_is_room_for(
    searched, connect, tmp_path, monkeypatch, machine
):
    monkeypatch.setattr(search, "Problem", Pretended)
    made = connect(machine, losses=1)
    evolve(SEARCH, tmp_path / "ray", 11, ray="local")
    evolve(SEARCH, tmp_path / "ray", 30, resume=True, ray="local")
    assert (tmp_path / "ray" / FILE).read_bytes() == searched
    assert len(made.needs) >= 30
