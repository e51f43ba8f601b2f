"""One example job per paper, and where the files lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kpareto.errors import BadJob, did_you_mean

PAPERS: Mapping[str, str] = {  # name -> what it is about
    "iyengar": "Iyengar, KDD 2002: recodings for a use",
    "lunacek": "Lunacek, Whitley and Ray, GECCO 2006: a crossover for trees",
    "gecco09": "Dewri, Whitley, Ray and Ray, GECCO 2009: preferences and bias",
    "poka": "Dewri, Ray, Ray and Whitley, CIKM 2009: POkA",
    "pbg": "Dewri, Ray, Ray and Whitley, DBSEC 2010: PBG-EA",
}
# In a wheel the files lie beside this one; in a checkout they are the folder examples.
PLACES = (Path(__file__).parent / "examples", Path(__file__).parents[3] / "examples")


def example_text(name: str) -> str:
    """The example job of a paper; a name that is none is a sentence."""
    if name not in PAPERS:
        raise BadJob(f"No paper {name!r}. {did_you_mean(name, PAPERS)}There are: {', '.join(PAPERS)}.")
    for place in PLACES:
        if (place / f"{name}.toml").exists():
            return (place / f"{name}.toml").read_text(encoding="utf-8")
    raise BadJob(
        f"The example job of {name!r} is not installed. Install kpareto again, or take it from its repository."
    )
