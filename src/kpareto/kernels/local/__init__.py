"""Compiled loops of local recoding: arrays in, arrays out. Each has a slow twin in the tests.

Words used by all of them. The *pieces* of a search are rows that look alike to it (one distinct row, one combination
of sensitive values); an *order* is an array of pieces, one entry per copy, and ``cuts`` says where its classes begin
and end: class c is ``order[cuts[c] : cuts[c + 1]]``. A *label* is what a class shows in one column, given by the
smallest and the largest leaf in it: ``losses[base[column] + width[column] * smallest + largest]`` is what one cell
loses by it, a whole number, and ``names`` at the same place is a number that equal labels share.

==============  ====================================================================================
file            what its loops do
==============  ====================================================================================
classes         the records that all loops take; what a class holds, keeps and loses
orders          put rows into a tree order, and cut an order into classes
build           the first classes: peel them off the table, mend those that miss a limit
improve         recut, rebuild and shave classes
suppress        drop rows that keep labels wide, bring rows back
neighbours      nearest rows, overlapping classes
prices          what rows lose at least: fair prices
==============  ====================================================================================
"""
