"""Cells made of cells, and the layers around them."""

from .attention import ATTENTION as ATTENTION
from .bidirectional import Bidirectional as Bidirectional
from .bridge import Bridge as Bridge
from .bridge import can_hand_over as can_hand_over
from .encoder_decoder import DeepReadout as DeepReadout
from .encoder_decoder import EncoderDecoder as EncoderDecoder
from .encoder_decoder import Pair as Pair
from .gated_feedback import GatedFeedback as GatedFeedback
from .layer_norm import LayerNorm as LayerNorm
from .mean import Mean as Mean
from .model import outputs_of as outputs_of
from .model import prepared as prepared
from .network import Dropped as Dropped
from .network import Embedding as Embedding
from .network import Network as Network
from .network import OneHot as OneHot
from .network import Readout as Readout
from .noise import Drop as Drop
from .noise import Dropout as Dropout
from .noise import WeightNoise as WeightNoise
from .noise import Zoneout as Zoneout
from .noise import reseed as reseed
from .stack import Stack as Stack
from .tagger import Tagger as Tagger
from .torch_weights import from_torch as from_torch
