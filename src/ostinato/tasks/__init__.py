"""Tasks: batches, a loss and metrics, all from one seed."""

from typing import TYPE_CHECKING

from .._lazy import Members, attach

if TYPE_CHECKING:
    from .arithmetic import Adding as Adding
    from .arithmetic import Multiplication as Multiplication
    from .arrays import Arrays as Arrays
    from .bouncing_balls import BouncingBalls as BouncingBalls
    from .captions import Captions as Captions
    from .chaos import Lorenz as Lorenz
    from .chaos import MackeyGlass as MackeyGlass
    from .chaos import SantaFe as SantaFe
    from .characters import Characters as Characters
    from .classification import Classify as Classify
    from .continuing import closed_loop as closed_loop
    from .copy import Copy as Copy
    from .execution import Addition as Addition
    from .execution import Execute as Execute
    from .handwriting import Handwriting as Handwriting
    from .handwriting import recognise as recognise
    from .memorisation import Memorisation as Memorisation
    from .memory_capacity import MemoryCapacity as MemoryCapacity
    from .mnist import PermutedMNIST as PermutedMNIST
    from .mnist import SequentialMNIST as SequentialMNIST
    from .music import Chorales as Chorales
    from .narma import NARMA10 as NARMA10
    from .ntm_copy import NTMCopy as NTMCopy
    from .ntm_ngrams import NTMNgrams as NTMNgrams
    from .ntm_recall import NTMRecall as NTMRecall
    from .ntm_repeat_copy import NTMRepeatCopy as NTMRepeatCopy
    from .ntm_sort import NTMSort as NTMSort
    from .pairs import Pairs as Pairs
    from .permutation import Permutation as Permutation
    from .recall import Recall as Recall
    from .series import Series as Series
    from .tagging import Tagging as Tagging
    from .task import Task as Task
    from .temporal_order import TemporalOrder as TemporalOrder
    from .temporal_order import TemporalOrder3 as TemporalOrder3
    from .text import Text as Text
    from .translate import Translate as Translate
    from .xor import Xor as Xor

__getattr__, __dir__, __all__ = attach(__name__, "TASKS")

# The tasks by the name that the command line uses. A configuration makes one by `from_settings`.
TASKS = Members(
    __name__,
    {
        "text": "text:Text",
        "xor": "xor:Xor",
        "adding": "arithmetic:Adding",
        "multiplication": "arithmetic:Multiplication",
        "temporal-order": "temporal_order:TemporalOrder",
        "temporal-order-3": "temporal_order:TemporalOrder3",
        "permutation": "permutation:Permutation",
        "memorisation": "memorisation:Memorisation",
        "copy": "copy:Copy",
        "mnist": "mnist:SequentialMNIST",
        "permuted-mnist": "mnist:PermutedMNIST",
        "jsb": "music:Chorales",
        "bouncing-balls": "bouncing_balls:BouncingBalls",
        "series": "series:Series",
        "arrays": "arrays:Arrays",
        "translate": "translate:Translate",
        "tag": "tagging:Tagging",
        "classify": "classification:Classify",
        "characters": "characters:Characters",
        "handwriting": "handwriting:Handwriting",
        "caption": "captions:Captions",
        "execute": "execution:Execute",
        "addition": "execution:Addition",
        "recall": "recall:Recall",
        "ntm-copy": "ntm_copy:NTMCopy",
        "ntm-repeat-copy": "ntm_repeat_copy:NTMRepeatCopy",
        "ntm-recall": "ntm_recall:NTMRecall",
        "ntm-ngrams": "ntm_ngrams:NTMNgrams",
        "ntm-sort": "ntm_sort:NTMSort",
        "mackey-glass": "chaos:MackeyGlass",
        "narma10": "narma:NARMA10",
        "lorenz": "chaos:Lorenz",
        "santa-fe": "chaos:SantaFe",
        "memory-capacity": "memory_capacity:MemoryCapacity",
    },
)
