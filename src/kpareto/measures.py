"""Every built-in measure under its name: importing this room fills the table of names."""

from __future__ import annotations

from kpareto import bias, diversity, loss, privacy, properties, targets
from kpareto.measure import MAKERS, Measure, Model, Number, make

__all__ = [
    "MAKERS",
    "Measure",
    "Model",
    "Number",
    "make",
    "bias",
    "diversity",
    "loss",
    "privacy",
    "properties",
    "targets",
]
