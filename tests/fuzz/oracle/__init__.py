"""Our own answers, worked out from the definitions in the slowest and plainest way; imports nothing of the package.

A sheet is rows of texts with a way to make each column coarser. From it follow classes, suppression under all five
rules, twenty-five measures, dominance, the front of all nodes by brute force, and what a file lets leak.
"""

from tests.fuzz.oracle.fronts import Candidate, best, candidates, classes, cuts, gains, node, parted, runs
from tests.fuzz.oracle.numbers import BY_CLASS, HIGHER, in_order, is_number, meets, number, spell, spelled
from tests.fuzz.oracle.sheets import Class, Levels, Number, Parted, Rule, Sheet, Step, size_of

__all__ = ["BY_CLASS", "Candidate", "Class", "HIGHER", "Levels", "Number", "Parted", "Rule", "Sheet", "Step", "best", "candidates",
           "classes", "cuts", "gains", "in_order", "is_number", "meets", "node", "number", "parted", "runs", "size_of", "spell", "spelled"]  # fmt: skip
