"""What we compare ourselves with: per piece of work our prototype's time, the bar to pass and the goal.

Seconds on two idle cores (Neoverse-N1, Python 3.11), compile time excluded, unless a row says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PromisedBar:
    """Published times of one piece of work; None where nobody has measured or promised one."""

    prototype: tuple[float, float] | None = None  # best and worst of the throw-away prototypes, seconds
    bar: float | None = None
    goal: float | None = None


# A benchmark that comes later adds its row here.
BARS: Mapping[str, PromisedBar] = {
    "lattice-k-glm-1": PromisedBar((0.204, 0.204)),
    "lattice-k-glm-2": PromisedBar((0.106, 0.106), 0.3, 0.1),
    "lattice-seven-1": PromisedBar((0.301, 0.301)),
    "lattice-seven-2": PromisedBar((0.157, 0.157), 0.5, 0.15),
    "front-k-glm": PromisedBar(None, 1.0, 0.3),
    "front-shell": PromisedBar(None, 3.0, 1.5),
    "cuts-105": PromisedBar((44e-6, 64e-6), 100e-6, 40e-6),
    "cuts-157": PromisedBar((67e-6, 86e-6), 130e-6, 60e-6),
    "genitor-30000": PromisedBar((1.9, 2.7), 4.0, 1.5),
    "genitor-500000": PromisedBar((40.0, 40.0), 75.0, 25.0),
    "nsga2-50000": PromisedBar(None, 6.0, 2.0),
    "start-first": PromisedBar((0.3, 0.5), 1.5, 0.7),
    "start-help": PromisedBar((0.085, 0.085)),  # what a command line of the same making needs for its help alone
    "start-cold": PromisedBar((4.0, 4.0)),
    "page-first": PromisedBar(None, 10.0, 5.0),
    "page-stop": PromisedBar(None, 1.0, 0.5),
    "page-roles-12": PromisedBar(None, 5.0, 2.5),
    "page-roles-48": PromisedBar(None, 10.0, 5.0),
}
