"""From outputs to symbols: sampling and beam search after a prompt, transcripts by CTC."""

from .beam import beam as beam
from .ctc import best_path as best_path
from .ctc import ctc_beam as ctc_beam
from .ctc import ctc_greedy as ctc_greedy
from .playing import Drawn as Drawn
from .playing import play as play
from .sampling import NotFinite as NotFinite
from .sampling import choose as choose
from .sampling import most_probable as most_probable
from .sampling import sample as sample
from .sequences import Answers as Answers
from .sequences import beam_answers as beam_answers
from .sequences import sampled_answers as sampled_answers
from .text import as_text as as_text
from .text import opening as opening
from .text import until as until
