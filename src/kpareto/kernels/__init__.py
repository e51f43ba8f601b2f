"""All compiled loops: arrays in, arrays out. Each has a slow twin in the tests.

==============  ====================================================================================
file            what its loops do
==============  ====================================================================================
compiling       how a loop is compiled and cached, so that an edit of any kernel is noticed
words           the numbers by which rules, statistics and crossovers are called
records         arrays that belong together, as several of the files below take them
classes         raise one column of a class table by a level, rotate its key, count sizes
class_sums      sums over classes of what their histograms tell
histograms      what needs values counted: diversity, closeness, minority, failing classes
needed          which thresholds each class needs, for the rule as-needed
hashing         random numbers from counters, dense ids for packed keys
dominance       fronts, ranks, crowding, tournaments
lattice/        walk a whole lattice; bounds, branch and bound over its partial nodes; Mondrian's divisions
cuts/           count recodings by cuts; repair, draw and cross genomes; scores, GENITOR, the best cut of a column
local/          local recoding, class by class
==============  ====================================================================================
"""
