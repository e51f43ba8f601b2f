"""``python -m kpareto`` is the same as ``kpareto``."""

import sys

from kpareto.cli import main

sys.exit(main())
