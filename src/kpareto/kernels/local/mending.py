"""Mend: classes that miss a limit are merged with others until every class keeps all of them.

Every limit used here is kept by the union of two classes that keep it, so merging ends at the latest when one class
is left, and that one holds if any recoding does.
"""

from __future__ import annotations

import numpy as np

from kpareto.kernels.compiling import compiled
from kpareto.kernels.local.cutting import holds
from kpareto.kernels.local.moving import close_books, open_books


@compiled
def best_partner(books, b, labels, limits):
    """The class whose union with class b holds at the least extra loss; failing that, costs least. −1: b is alone."""
    columns = books.small.shape[1]
    best, best_extra, best_holds = -1, np.int64(0), False
    tally = np.empty(books.tally.shape[1], np.int64)
    for other in range(len(books.size)):
        if other == b or books.size[other] == 0:
            continue
        rows, total = books.size[b] + books.size[other], np.int64(0)
        for c in range(columns):
            low = min(books.small[b, c], books.small[other, c])
            high = max(books.large[b, c], books.large[other, c])
            total += labels.losses[labels.base[c] + labels.width[c] * low + high]
        extra = rows * total - books.size[b] * books.loss[b] - books.size[other] * books.loss[other]
        if best >= 0 and best_holds and extra >= best_extra:
            continue
        tally[:] = books.tally[b] + books.tally[other]
        kept = holds(tally, rows, limits)
        if best < 0 or (kept and not best_holds) or (kept == best_holds and extra < best_extra):
            best, best_extra, best_holds = other, extra, kept
    return best


@compiled
def mend(order, cuts, pieces, labels, limits):
    """(order, cuts) with classes merged until all hold, or until one class is left."""
    books = open_books(order, cuts, pieces, labels, len(limits.totals))
    columns = books.small.shape[1]
    for b in np.argsort(books.size, kind="mergesort"):
        while books.size[b] > 0 and not holds(books.tally[b], books.size[b], limits):
            other = best_partner(books, b, labels, limits)
            if other < 0:
                break
            total = np.int64(0)
            for c in range(columns):
                books.small[b, c] = min(books.small[b, c], books.small[other, c])
                books.large[b, c] = max(books.large[b, c], books.large[other, c])
                total += labels.losses[labels.base[c] + labels.width[c] * books.small[b, c] + books.large[b, c]]
            i = books.head[other]
            while books.follow[i] >= 0:
                i = books.follow[i]
            books.follow[i] = books.head[b]
            books.head[b], books.head[other] = books.head[other], -1
            books.size[b] += books.size[other]
            books.size[other] = 0
            books.tally[b] += books.tally[other]
            books.loss[b] = total
    return close_books(order, books)
