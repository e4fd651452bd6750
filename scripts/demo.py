"""Run the example: a cell in ten lines, checked, and how far back its gradient reaches."""

import subprocess
import sys

from environment import ROOT, python_with

command = [python_with("plot"), str(ROOT / "examples" / "own_cell.py"), *sys.argv[1:]]
sys.exit(subprocess.run(command).returncode)
