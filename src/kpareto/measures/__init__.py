"""Every built-in measure under its name: importing this room fills the table of names."""

from __future__ import annotations

from kpareto.measures import cells as loss
from kpareto.measures import population, properties, targets, use
from kpareto.measures import sensitive as diversity
from kpareto.measures import sizes as privacy
from kpareto.measures.measure import MAKERS, Measure, Model, Number, make

__all__ = [
    "MAKERS",
    "Measure",
    "Model",
    "Number",
    "make",
    "diversity",
    "loss",
    "population",
    "privacy",
    "properties",
    "targets",
    "use",
]
