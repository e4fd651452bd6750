"""Train on the text that comes with Python, and show what was learned.

Arguments are passed on to `ostinato train`.
"""

import sys

from environment import become, python_with

become([python_with(), "-m", "ostinato", "train", *sys.argv[1:]])
