"""From outputs to symbols: sampling and beam search after a prompt, transcripts by CTC."""

from .ctc import ctc_beam as ctc_beam
from .ctc import ctc_greedy as ctc_greedy
from .sampling import Drawn as Drawn
from .sampling import play as play
from .sampling import sample as sample
from .sequences import Answers as Answers
from .sequences import beam as beam
from .sequences import beam_answers as beam_answers
from .sequences import sampled_answers as sampled_answers
