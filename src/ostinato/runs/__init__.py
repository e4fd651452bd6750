"""Runs: the training loop, the run folder, sampling from it and evaluating it."""

from .config import Config as Config
from .evaluation import dynamic_evaluate as dynamic_evaluate
from .evaluation import evaluate as evaluate
from .examination import examine as examine
from .folder import Run as Run
from .folder import open_run as open_run
from .sampling import beam as beam
from .sampling import sample as sample
from .training import train as train
from .trouble import Diverged as Diverged
