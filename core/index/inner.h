/* SPDX-License-Identifier: Apache-2.0 */
/* The index and its searches from the inside: what index.c, search.c and renewal.c share. */
#ifndef CORE_INDEX_INNER_H
#define CORE_INDEX_INNER_H

#include "core/index/engine.h"
#include "core/index/notes.h"

/* One part of a search: a walk over one index. The index lists it while the search is under way. */
struct search_part {
    struct index_search *search;
    struct index *index;
    void *cursor;
    void *next_cursor; /* used by renewal.c while it exchanges engines */
    struct index_probe probe;
    struct index_memo memo;   /* in the first part of an index; other parts of the index use it */
    bool walked;              /* to the end */
    struct search_part *next; /* in index->parts */
    struct search_part **link;
};

struct index {
    const struct index_engine *engine;
    void *handle;
    struct index_options options;
    struct profile profile; /* what options.profile points to */
    size_t words;
    struct search_part *parts; /* of searches under way */
    struct notes *notes;       /* of a renewal under way, which copies this index; or NULL */
};

struct index_search {
    const struct alloc *alloc;
    struct index_query query; /* its parts are not used: see below */
    struct search_part *parts;
    uint64_t *filters; /* for each part its filter, then its contains */
    struct nearest nearest;
    bool looking;     /* first looks are under way, before any part is walked to its end, */
    uint32_t current; /* ... at this part */
    uint32_t opened;  /* see index_probe.opened */
    uint32_t restarts;
    uint64_t before_restart; /* comparisons before the last restart, which the budget ignores */
    int64_t now_ms;
    bool started;
    bool restart; /* one of the k best was removed: the next step begins again */
    bool done;
    bool capped; /* at the end: see index_search_is_capped */
    bool cut;    /* the query's budget ended the search, not the walk */
};

/* --- index.c ---------------------------------------------------------------------------------- */

/* Tells a part that messages of its index may have other places now. */
void index_part_moved(struct search_part *part);

#endif
