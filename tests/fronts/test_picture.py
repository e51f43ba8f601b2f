"""The one picture of a front: what is drawn of plain numbers, and what has no place in it."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np

from kpareto.fronts.picture import CELLS, Drawing, sketch, thin_cloud

DRAWN = Drawing(
    "k", "glm", True, False, True, [(2, 1.0), (5, 3.0), (9, 4.0)], [(2, 3.5)], [("k ≥ 5", 5, 3.0)], (5, 3.0)
)


def test_a_sketch_has_points_steps_and_marks() -> None:
    """It is well-formed, has a circle per point and says which is chosen; the line goes up before it goes right."""
    picture = sketch(DRAWN, "The front", "three points")
    root = ET.fromstring(picture)
    assert len([circle for circle in root.iter("circle") if circle.get("class") == "point"]) == 3
    assert "chosen, k ≥ 5" in [element.text for element in root.iter("text")]
    (steps,) = [path.get("d", "") for path in root.iter("path") if path.get("class") == "front"]
    assert steps.index("V") < steps.index("H")
    assert "chosen" not in sketch(replace(DRAWN, chosen=None), "The front", "three points")


def test_what_the_column_totals_alone_give_is_a_line() -> None:
    """It lies within the picture, above every point where it is larger, and has its name; without use there is none."""
    root = ET.fromstring(sketch(replace(DRAWN, control=9.0), "The front", "three points"))
    (control,) = [each for each in root.iter("line") if each.get("class") == "control"]
    points = [float(each.get("cy", "")) for each in root.iter("circle") if each.get("class") == "point"]
    assert 0 < float(control.get("y1", "")) < min(points)
    assert "the column totals alone" in [element.text for element in root.iter("text")]
    assert "control" not in sketch(DRAWN, "The front", "three points")
    assert "control" not in sketch(replace(DRAWN, y_log=True, control=0.0), "The front", "three points")


def test_what_is_infinite_has_no_place() -> None:
    """An infinite point is left out, and a picture of nothing else is none."""
    endless = (math.inf, 1.0)
    one = sketch(replace(DRAWN, points=[*DRAWN.points, endless], cloud=[endless]), "The front", "")
    assert one.count('class="point"') == 3
    assert sketch(replace(DRAWN, points=[endless], cloud=[], marks=[], chosen=None), "The front", "") == ""


def test_a_cloud_has_one_point_per_cell() -> None:
    """Points that would cover each other are drawn once; what a logarithm does not have is left out."""
    cloud = np.array([(1.0, 1.0), (1.0, 1.0 + 1e-9), (2.0, 2.0), (0.0, 1.5), (np.inf, 1.0)])
    assert thin_cloud(cloud, True, False).tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert len(thin_cloud(np.random.default_rng(1).random((10**5, 2)), False, False)) <= (CELLS[0] + 1) * (CELLS[1] + 1)
