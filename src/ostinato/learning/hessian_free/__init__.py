"""Hessian-free learning: Gauss-Newton products, conjugate gradient, damping, and the learner.

on_batch              f, ∇f, G v, structural damping and H v on a batch
conjugate_gradient    a plain function, with the reason why it stopped
damping               λ, μ and the rule that moves them
searches              on the true objective: the iterate, the length, line-search damping
curvature_batch       the part of the batch whose curvature is used
learner               one step of it all
"""

from .conjugate_gradient import REASONS as REASONS
from .conjugate_gradient import conjugate_gradient as conjugate_gradient
from .damping import Damping as Damping
from .learner import HessianFree as HessianFree
from .on_batch import OnBatch as OnBatch
