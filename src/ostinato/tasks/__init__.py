"""Tasks: batches, a loss and metrics, all from one seed."""

from typing import TYPE_CHECKING

from .._lazy import Members, attach

if TYPE_CHECKING:
    from .abilities import AnsweringTask as AnsweringTask
    from .abilities import OnFileTask as OnFileTask
    from .abilities import PassageTask as PassageTask
    from .abilities import PicturedTask as PicturedTask
    from .abilities import StartedTask as StartedTask
    from .abilities import TextTask as TextTask
    from .audio.audio import Audio as Audio
    from .batches import Batches as Batches
    from .downloaded import Chorales as Chorales
    from .downloaded import PermutedMNIST as PermutedMNIST
    from .downloaded import SequentialMNIST as SequentialMNIST
    from .handwriting.handwriting import Characters as Characters
    from .handwriting.handwriting import Handwriting as Handwriting
    from .handwriting.handwriting import recognise as recognise
    from .pairs.captions import Captions as Captions
    from .pairs.dialogue import Dialogue as Dialogue
    from .pairs.execution import Addition as Addition
    from .pairs.execution import Execute as Execute
    from .pairs.pairs import Pairs as Pairs
    from .pairs.translate import Translate as Translate
    from .series.arrays import Arrays as Arrays
    from .series.continuing import closed_loop as closed_loop
    from .series.continuing import drawn_paths as drawn_paths
    from .series.forecast import Forecast as Forecast
    from .series.series import Series as Series
    from .series.systems import NARMA10 as NARMA10
    from .series.systems import Lorenz as Lorenz
    from .series.systems import MackeyGlass as MackeyGlass
    from .series.systems import MemoryCapacity as MemoryCapacity
    from .series.systems import SantaFe as SantaFe
    from .synthetic.bouncing_balls import BouncingBalls as BouncingBalls
    from .synthetic.long_lags import Adding as Adding
    from .synthetic.long_lags import MarkedXor as MarkedXor
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
    from .turing.ngrams import NTMNgrams as NTMNgrams
    from .turing.vector_tasks import NTMCopy as NTMCopy
    from .turing.vector_tasks import NTMRecall as NTMRecall
    from .turing.vector_tasks import NTMRepeatCopy as NTMRepeatCopy
    from .turing.vector_tasks import NTMSort as NTMSort
    from .video.captions import VideoCaptions as VideoCaptions
    from .video.frames import Video as Video

__getattr__, __dir__, __all__ = attach(__name__, "TASKS")

# The tasks by the name that the command line uses. A configuration makes one by `from_settings`.
TASKS = Members(
    __name__,
    {
        "text": "text.text:Text",
        "xor": "synthetic.xor:Xor",
        "adding": "synthetic.long_lags:Adding",
        "multiplication": "synthetic.long_lags:Multiplication",
        "marked-xor": "synthetic.long_lags:MarkedXor",
        "temporal-order": "synthetic.long_lags:TemporalOrder",
        "temporal-order-3": "synthetic.long_lags:TemporalOrder3",
        "permutation": "synthetic.long_lags:Permutation",
        "memorisation": "synthetic.memorisation:Memorisation",
        "copy": "synthetic.memorisation:Copy",
        "mnist": "downloaded:SequentialMNIST",
        "permuted-mnist": "downloaded:PermutedMNIST",
        "jsb": "downloaded:Chorales",
        "bouncing-balls": "synthetic.bouncing_balls:BouncingBalls",
        "series": "series.series:Series",
        "arrays": "series.arrays:Arrays",
        "audio": "audio.audio:Audio",
        "translate": "pairs.translate:Translate",
        "dialogue": "pairs.dialogue:Dialogue",
        "tag": "text.tagging:Tagging",
        "classify": "text.classification:Classify",
        "characters": "handwriting.handwriting:Characters",
        "handwriting": "handwriting.handwriting:Handwriting",
        "caption": "pairs.captions:Captions",
        "video": "video.frames:Video",
        "video-caption": "video.captions:VideoCaptions",
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
