"""``python -m kpareto`` is the same as ``kpareto``."""

import sys

from kpareto.faces.cli import main

sys.exit(main())
