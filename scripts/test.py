"""Install what the tests need and run them; arguments are passed on to pytest."""

import os
import sys

from environment import ROOT, become, python_with

command = [python_with("test"), "-m", "pytest", *sys.argv[1:]]
# Two workers share the cores; one thread each keeps them out of each other's way.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.chdir(ROOT)
become(command)
