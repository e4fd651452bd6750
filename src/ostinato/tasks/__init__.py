"""Tasks: batches, a loss and metrics, all from one seed."""

from typing import TYPE_CHECKING

from .._lazy import Members, attach

if TYPE_CHECKING:
    from .ctc import CTC as CTC
    from .ctc import LabelErrorRate as LabelErrorRate
    from .ctc import check_transcripts as check_transcripts
    from .ctc import edit_distances as edit_distances
    from .downloaded.mnist import PermutedMNIST as PermutedMNIST
    from .downloaded.mnist import SequentialMNIST as SequentialMNIST
    from .downloaded.music import Chorales as Chorales
    from .handwriting.characters import Characters as Characters
    from .handwriting.handwriting import Handwriting as Handwriting
    from .handwriting.handwriting import recognise as recognise
    from .losses import BinaryCrossEntropy as BinaryCrossEntropy
    from .losses import CrossEntropy as CrossEntropy
    from .losses import Loss as Loss
    from .losses import SquaredError as SquaredError
    from .losses import StepLoss as StepLoss
    from .metrics import F1 as F1
    from .metrics import AbsoluteError as AbsoluteError
    from .metrics import Accuracy as Accuracy
    from .metrics import Bits as Bits
    from .metrics import ErrorInUnits as ErrorInUnits
    from .metrics import MeanSquaredError as MeanSquaredError
    from .metrics import Metric as Metric
    from .metrics import NatsPerStep as NatsPerStep
    from .metrics import NormalisedError as NormalisedError
    from .metrics import Perplexity as Perplexity
    from .metrics import RSquared as RSquared
    from .metrics import StepMean as StepMean
    from .metrics import perplexity as perplexity
    from .pairs.captions import Captions as Captions
    from .pairs.execution import Addition as Addition
    from .pairs.execution import Execute as Execute
    from .pairs.pairs import Pairs as Pairs
    from .pairs.translate import Translate as Translate
    from .series.arrays import Arrays as Arrays
    from .series.continuing import closed_loop as closed_loop
    from .series.from_files import task_name_for as task_name_for
    from .series.quantiles import Coverage as Coverage
    from .series.quantiles import Pinball as Pinball
    from .series.quantiles import PinballInUnits as PinballInUnits
    from .series.series import Series as Series
    from .series.systems import NARMA10 as NARMA10
    from .series.systems import Lorenz as Lorenz
    from .series.systems import MackeyGlass as MackeyGlass
    from .series.systems import MemoryCapacity as MemoryCapacity
    from .series.systems import SantaFe as SantaFe
    from .synthetic.bouncing_balls import BouncingBalls as BouncingBalls
    from .synthetic.long_lags import Adding as Adding
    from .synthetic.long_lags import Multiplication as Multiplication
    from .synthetic.long_lags import Permutation as Permutation
    from .synthetic.long_lags import TemporalOrder as TemporalOrder
    from .synthetic.long_lags import TemporalOrder3 as TemporalOrder3
    from .synthetic.memorisation import Copy as Copy
    from .synthetic.memorisation import Memorisation as Memorisation
    from .synthetic.recall import Recall as Recall
    from .synthetic.xor import Xor as Xor
    from .task import Task as Task
    from .text.classification import Classify as Classify
    from .text.tagging import Tagging as Tagging
    from .text.text import Text as Text
    from .text.text import embedded_text as embedded_text
    from .text.text import streams as streams
    from .turing.bit_vectors import BitsPerSequence as BitsPerSequence
    from .turing.bit_vectors import WrongBits as WrongBits
    from .turing.ngrams import NTMNgrams as NTMNgrams
    from .turing.vector_tasks import NTMCopy as NTMCopy
    from .turing.vector_tasks import NTMRecall as NTMRecall
    from .turing.vector_tasks import NTMRepeatCopy as NTMRepeatCopy
    from .turing.vector_tasks import NTMSort as NTMSort

__getattr__, __dir__, __all__ = attach(__name__, "TASKS")

# The tasks by the name that the command line uses. A configuration makes one by `from_settings`.
TASKS = Members(
    __name__,
    {
        "text": "text.text:Text",
        "xor": "synthetic.xor:Xor",
        "adding": "synthetic.long_lags:Adding",
        "multiplication": "synthetic.long_lags:Multiplication",
        "temporal-order": "synthetic.long_lags:TemporalOrder",
        "temporal-order-3": "synthetic.long_lags:TemporalOrder3",
        "permutation": "synthetic.long_lags:Permutation",
        "memorisation": "synthetic.memorisation:Memorisation",
        "copy": "synthetic.memorisation:Copy",
        "mnist": "downloaded.mnist:SequentialMNIST",
        "permuted-mnist": "downloaded.mnist:PermutedMNIST",
        "jsb": "downloaded.music:Chorales",
        "bouncing-balls": "synthetic.bouncing_balls:BouncingBalls",
        "series": "series.series:Series",
        "arrays": "series.arrays:Arrays",
        "translate": "pairs.translate:Translate",
        "tag": "text.tagging:Tagging",
        "classify": "text.classification:Classify",
        "characters": "handwriting.characters:Characters",
        "handwriting": "handwriting.handwriting:Handwriting",
        "caption": "pairs.captions:Captions",
        "execute": "pairs.execution:Execute",
        "addition": "pairs.execution:Addition",
        "recall": "synthetic.recall:Recall",
        "ntm-copy": "turing.vector_tasks:NTMCopy",
        "ntm-repeat-copy": "turing.vector_tasks:NTMRepeatCopy",
        "ntm-recall": "turing.vector_tasks:NTMRecall",
        "ntm-ngrams": "turing.ngrams:NTMNgrams",
        "ntm-sort": "turing.vector_tasks:NTMSort",
        "mackey-glass": "series.systems:MackeyGlass",
        "narma10": "series.systems:NARMA10",
        "lorenz": "series.systems:Lorenz",
        "santa-fe": "series.systems:SantaFe",
        "memory-capacity": "series.systems:MemoryCapacity",
    },
)
