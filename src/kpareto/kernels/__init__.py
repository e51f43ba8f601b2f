"""All compiled loops: arrays in, arrays out. Each has a slow twin in the tests.

==============  ====================================================================================
file            what its loops do
==============  ====================================================================================
compiling       how a loop is compiled and cached, so that an edit of any kernel is noticed
words           the numbers by which rules, statistics and crossovers are called
records         arrays that belong together, as several of the files below take them
classes         raise one column of a class table by a level, rotate its key, count sizes
histograms      what needs values counted: diversity, closeness, minority, failing classes
lattice         walk a whole lattice
branching       branch and bound over the partial nodes of a large lattice
hashing         random numbers from counters, dense ids for packed keys
cuts            count recodings by cuts
runs            merge rows as far as a population of cuts allows, and count run by run
genomes         repair, draw and cross genomes of cuts
score           the loss of one recoding under a fixed k
genitor         GENITOR's steady state
recut           the best cut of one column while the others stay
dominance       fronts, ranks, crowding, tournaments
mondrian        divisions of the leaves, class by class
==============  ====================================================================================
"""
