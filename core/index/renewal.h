/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renewal: all messages of an index arranged anew, while it serves.
 *
 *   begin     changes of the index are noted from here on
 *   copy      its messages are copied out, a bounded slice at a time
 *   arrange   a second index is made of the copy, and arranged: long, and touches nothing of the
 *             first, so that another thread may do it
 *   follow    what came and went meanwhile comes and goes there, too, slice by slice; then the two
 *             exchange their insides. Searches under way go on, and stay right
 *   free      what the index had before is given back: long as well
 *
 * The index stays the same for all who point to it. begin, copy, follow and detach are for the
 * thread that the index belongs to; arrange, and free after detach or after follow's end, may be
 * called by any one thread, if the index's allocator is fit for that. A failure, whenever it comes,
 * leaves the index as it was.
 *
 * Memory meanwhile, with B the bytes of the index: the copy, about 0.8 B, becomes the second index,
 * B, as it is read; arranging it takes 15 bytes a message and at most 10 MB for a time; and there
 * are 16 bytes for each change noted, of which there are no more than messages (or 65,536).
 */
#ifndef CORE_INDEX_RENEWAL_H
#define CORE_INDEX_RENEWAL_H

#include "core/index/index.h"

struct renewal;

/* Named outcomes. */
enum {
    RENEWAL_MORE = 1,    /* copy, follow: not done, call again */
    RENEWAL_STOPPED = 2, /* arrange: it was wanted */
    RENEWAL_OVERRUN = 3  /* copy, follow: more changes than messages came meanwhile; detach */
};

/*
 * Begins for an index that has none under way, of an engine that arranges (the tree). The index
 * must stay until renewal_detach or follow's end. 0 or -ERR_NOMEM.
 */
int renewal_begin(struct index *index, struct renewal **out_renewal);

/* Copies at most INDEX_COPY_MAX more messages. 0 when all are copied, RENEWAL_MORE,
 * RENEWAL_OVERRUN, -ERR_NOMEM. */
int renewal_copy(struct renewal *renewal);

/* After copy's end. `stop` may be NULL. 0, RENEWAL_STOPPED, -ERR_NOMEM. O(n log n) */
int renewal_arrange(struct renewal *renewal, const struct index_stop *stop);

/*
 * After arrange's end: brings over at least `budget` changes, and more if so many came since the
 * last call that it would not end. 0 when the index has become the new one, and the renewal is
 * detached; RENEWAL_MORE, RENEWAL_OVERRUN, -ERR_NOMEM.
 */
int renewal_follow(struct renewal *renewal, size_t budget);

/*
 * Lets go of the index, which stays as it is and may be freed. At any time, even while another
 * thread is in arrange. Nothing but renewal_free may follow.
 */
void renewal_detach(struct renewal *renewal);

/* Frees what a detached renewal holds. NULL is fine. O(n) */
void renewal_free(struct renewal *renewal);

#endif
