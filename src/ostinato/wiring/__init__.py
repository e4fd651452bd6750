"""Cells made of cells, and the layers around them."""

from .bidirectional import Bidirectional as Bidirectional
from .captioner import Captioner as Captioner
from .encoder_decoder import EncoderDecoder as EncoderDecoder
from .gated_feedback import GatedFeedback as GatedFeedback
from .layer_norm import LayerNorm as LayerNorm
from .network import Embedding as Embedding
from .network import FixedEmbedding as FixedEmbedding
from .network import Network as Network
from .network import OneHot as OneHot
from .network import Readout as Readout
from .network import outputs_of as outputs_of
from .noise import Dropout as Dropout
from .noise import WeightNoise as WeightNoise
from .noise import Zoneout as Zoneout
from .noise import reseed as reseed
from .stack import Mean as Mean
from .stack import Stack as Stack
from .tagger import Tagger as Tagger
from .torch_weights import from_torch as from_torch
from .turing import NeuralTuringMachine as NeuralTuringMachine
from .video import VideoCaptioner as VideoCaptioner
from .video import VideoModel as VideoModel
