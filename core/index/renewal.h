/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renewal: rebuilds an index while the index serves.
 *
 *   begin    from now on the ids of inserted and removed messages are noted (notes.h)
 *   copy     copies messages out of the index, a bounded number in each call
 *   take     inserts what was copied so far into a second index, so that the copy does not grow
 *            with the index. copy and take take turns
 *   arrange  takes the rest and arranges the second index. This takes long
 *   follow   applies the noted changes to the second index, some changes in each call. At the end
 *            the two indexes exchange their engines. Running searches go on and stay right
 *   free     frees the old engine, which takes long, too
 *
 * The address of the index stays the same. begin, copy, follow and detach belong to the thread of
 * the index. take and arrange do not touch the first index, so any thread may call them, and free
 * after detach or after the end of follow, if the allocator of the index allows that. A failure
 * leaves the index as it was.
 *
 * A renewal takes memory for a copy of at most RENEWAL_BATCHES * INDEX_COPY_MAX messages; for the
 * second index; for arranging; and for a queue of the noted ids, 16 bytes each. At most as many
 * noted ids wait as the index had messages at the beginning, or 65,536 if that is more.
 */
#ifndef CORE_INDEX_RENEWAL_H
#define CORE_INDEX_RENEWAL_H

#include "core/index/index.h"

struct renewal;

/* Named outcomes. */
enum {
    RENEWAL_MORE = 1,    /* copy, follow: not done, call again */
    RENEWAL_STOPPED = 2, /* take, arrange: `stop` ended the call */
    RENEWAL_OVERRUN = 3, /* copy, follow: too many changes were noted; call detach */
    RENEWAL_FULL = 4     /* copy: not done; call take before the next call */
};

/* After so many calls copy returns RENEWAL_FULL, and renewal_take must be called. */
enum { RENEWAL_BATCHES = 2 };

/*
 * Begins a renewal. The engine of the index must be able to arrange messages, as the tree is, and
 * the index must have no other renewal. The index must live until renewal_detach or the end of
 * follow. 0 or -ERR_NOMEM.
 */
int renewal_begin(struct index *index, struct renewal **out_renewal);

/* Copies at most INDEX_COPY_MAX more messages. 0 when all are copied, RENEWAL_MORE, RENEWAL_FULL,
 * RENEWAL_OVERRUN, -ERR_NOMEM. */
int renewal_copy(struct renewal *renewal);

/*
 * Inserts what was copied into the second index. Call it after copy has returned RENEWAL_FULL.
 * `stop` may be NULL. 0, RENEWAL_STOPPED, -ERR_NOMEM.
 */
int renewal_take(struct renewal *renewal, const struct index_stop *stop);

/*
 * Arranges the second index. Call it after copy has returned 0. `stop` may be NULL. 0,
 * RENEWAL_STOPPED, -ERR_NOMEM.
 */
int renewal_arrange(struct renewal *renewal, const struct index_stop *stop);

/*
 * Applies the changes that were noted while the index was copied and arranged. Call it after
 * renewal_arrange has returned 0. One call applies up to `budget` changes, or up to twice as many
 * changes as were noted since the last call, whichever is more. So the renewal ends however fast
 * changes come, if `budget` is at least 1. Returns 0: the index has the new engine, and the renewal
 * is detached; RENEWAL_MORE, RENEWAL_OVERRUN or -ERR_NOMEM.
 */
int renewal_follow(struct renewal *renewal, size_t budget);

/*
 * Ends the renewal's use of the index; the index stays as it is and may be freed. May be called at
 * any time, even while another thread is in take or arrange. The thread of the index may then call
 * renewal_free only, after that call has returned.
 */
void renewal_detach(struct renewal *renewal);

/* Frees what a detached renewal holds. NULL is fine. O(n) */
void renewal_free(struct renewal *renewal);

#endif
