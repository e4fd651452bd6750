"""Train on the text that comes with Python, and show what was learned.

Arguments are passed on to `ostinato train`.
"""

import subprocess
import sys

from environment import python_with

sys.exit(subprocess.run([python_with(), "-m", "ostinato", "train", *sys.argv[1:]]).returncode)
