"""``python -m kpareto`` is the same as ``kpareto``."""

from kpareto.faces.cli import start

start()
