"""Install what the tests need and run them; arguments are passed on to pytest."""

import os
import subprocess
import sys

from environment import ROOT, python_with

command = [python_with("test"), "-m", "pytest", *sys.argv[1:]]
# Two workers share the cores; one thread each keeps them out of each other's way.
environment = {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", **os.environ}
sys.exit(subprocess.run(command, cwd=ROOT, env=environment).returncode)
