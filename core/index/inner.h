/* SPDX-License-Identifier: Apache-2.0 */
/* The index and its searches from the inside: what index.c, search.c and renewal.c share. */
#pragma once

#include "core/index/engine.h"

/*
 * One part of a search, which walks over one index. The index lists the part until the search is
 * done or freed.
 */
struct search_part {
    struct index_search *search;
    struct index *index;
    void *cursor;
    void *next_cursor; /* a second cursor, used while renewal.c replaces the engine of `index`: it
                        * walks over the other engine */
    struct index_probe probe;
    /*
     * If several parts of a search use the same index and the query excludes ids, all of these
     * parts use the memo of the first of them.
     */
    struct index_memo memo;
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
    struct notes *notes;       /* notes of a running renewal of this index; or NULL */
    struct index_use use;      /* of the searches that have ended */
};

struct index_search {
    const struct alloc *alloc;
    struct index_query query; /* query.parts is NULL: `parts` has copies */
    struct search_part *parts;
    uint64_t *filters; /* for each part its filter, then its `contains` filter */
    struct nearest nearest;
    bool looking;     /* true: the first looks of the parts are not done (index_probe.first_look) */
    uint32_t current; /* the part whose first look is running */
    uint32_t opened;  /* see index_probe.opened */
    uint32_t restarts;
    /* number of comparisons before the last restart; these comparisons do not count for
     * query.budget */
    uint64_t before_restart;
    int64_t now_ms;
    bool started;
    bool restart; /* true: a message on which the k best depend was removed from its index, so the
                     next step restarts the search */
    bool done;
    bool capped; /* at the end: see index_search_is_capped */
    bool cut;    /* the query's budget ended the search before its cursors did */
};

/* --- index.c ---------------------------------------------------------------------------------- */

/* Tells a part of a search that the place numbers (index_probe_offer) of messages in its index may
 * have changed. */
void index_part_moved(struct search_part *part);
