/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_inner: what an index and its searches consist of. Included by index.c, search.c and
 * renewal.c only.
 */
#ifndef CORE_INDEX_INNER_H
#define CORE_INDEX_INNER_H

#include "core/index/engine.h"
#include "core/index/notes.h"

/* One part of a search: a walk over one index, which knows of it while the search is under way. */
struct search_part {
    struct index_search *search;
    struct index *index;
    void *cursor;
    void *next_cursor; /* renewal.c's, while it exchanges engines */
    struct index_probe probe;
    struct index_memo memo;   /* used by all parts with the same source, if this is the first */
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
    bool looking;     /* at each part for the first time, before any is walked to its end, */
    uint32_t current; /* ... at this one */
    uint32_t opened;  /* see index_probe.opened */
    uint32_t restarts;
    uint64_t before_restart; /* comparisons that led to nothing: the budget begins again */
    int64_t now_ms;
    bool started;
    bool restart; /* something that was held has gone: begin again */
    bool done;
    bool capped; /* as it ended: see index_search_is_capped */
    bool cut;    /* done because the budget was, not the walk */
};

/* ---- index.c ---- */

/* Messages of a part's index may stand at other places from now on. */
void index_part_moved(struct search_part *part);

#endif
