"""Hessian-free learning: Gauss-Newton products, conjugate gradient, damping, and the learner.

on_batch              f, ∇f, G v, structural damping and H v on a batch
conjugate_gradient    a plain function that also returns why it stopped
damping               λ, μ and the rule that adapts them
searches              searches on the true objective: iterate, step length, line-search damping
curvature_batch       the part of the batch for the curvature products
learner               the learner, which puts a step together
"""

from .conjugate_gradient import REASONS as REASONS
from .conjugate_gradient import conjugate_gradient as conjugate_gradient
from .damping import Damping as Damping
from .learner import HessianFree as HessianFree
from .on_batch import OnBatch as OnBatch
