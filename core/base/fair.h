/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair: who gives way when something has run out, such as places for connections, a queue, or room
 * for waiting bytes. The rule: who holds most gives way to who holds less. So a holder that takes
 * all it can get keeps nobody out: the next one takes a place from it.
 *
 * A holder is a sender, such as a device or an address. A holder may also belong to a network, such
 * as an IPv6 /64, of which one device can have many addresses. Two holders with equally many things
 * are compared by what their networks hold.
 *
 * To choose the victim, the caller counts the newcomer first, and then considers each thing that
 * may be dropped, in whatever phase it is:
 *
 *     struct fair_choice choice = {.newcomer = fair_share(newcomer->holder)};
 *
 *     DL_FOREACH (list, each) {
 *         if (each != newcomer) {
 *             fair_consider(&choice, &(struct fair_candidate){.thing = each,
 *                                                             .share = fair_share(each->holder),
 *                                                             .rank = is_idle(each)});
 *         }
 *     }
 *     if (choice.victim.thing != NULL) ...
 *
 * There always is a victim, so no newcomer is turned away from a full list. If the newcomer's
 * holder has other things and nobody has more, one of these is the victim. If it has no other
 * thing, anybody has at least as much. Only if the caller does not consider some things, there may
 * be no victim.
 *
 * This module has no I/O, no clock, and no state of its own. Not thread-safe.
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

/* --- the victim ------------------------------------------------------------------------------- */

/* How much a holder has. The unit is the caller's: things, bytes. */
struct fair_share {
    const void *holder;  /* only compared with others; NULL: a holder that is not known */
    uint64_t held;       /* by the holder */
    uint64_t by_network; /* by all holders of its network; without a network: `held` */
};

/* A thing that may be dropped. Among things of holders with equal shares, the one with the largest
 * rank is dropped first, then the one with the largest age, then the one considered first. */
struct fair_candidate {
    void *thing; /* NULL: none */
    struct fair_share share;
    unsigned rank; /* for example 1 for a thing that is idle, 0 for one that works */
    uint64_t age;  /* in any unit */
};

struct fair_choice {
    struct fair_share newcomer;   /* what its holder has, the newcomer included */
    struct fair_candidate victim; /* of those considered so far; zeroed: none may be dropped */
};

/*
 * Makes the candidate the victim if it may be dropped, and goes before the present victim. Things
 * of the newcomer's holder may be dropped, and things of holders that have at least as much as the
 * newcomer's holder. The things of the holder with most go first. At equal shares, things of the
 * newcomer's holder go before those of others: otherwise a holder could change its connections for
 * ever, and each change would cost somebody else one. Copies the candidate. O(1).
 */
void fair_consider(struct fair_choice *choice, const struct fair_candidate *candidate);

/* --- counting --------------------------------------------------------------------------------- */

/* A name of a holder or of a network: a kind, and up to 16 bytes. All of it is compared. */
struct fair_key {
    uint64_t words[3];
};

struct fair_holder;

/* Counts things by their holders. A zeroed struct has counted nothing. */
struct fair_table {
    struct fair_holder *first;
};

/*
 * Counts one more thing of the sender `sender`, in the network `network`; NULL: it has no network.
 * A sender that holds something already stays in the network that it had. Returns the holder, which
 * is valid until its last fair_leave. NULL: memory is out. O(holders).
 */
struct fair_holder *fair_enter(struct fair_table *table, const struct alloc *alloc,
                               const struct fair_key *sender, const struct fair_key *network);

/* Counts one thing less. A holder is freed with its last thing, so a table with which all have left
 * needs no end. `holder` may be NULL. O(holders). */
void fair_leave(struct fair_table *table, const struct alloc *alloc, struct fair_holder *holder);

/* What a holder has. NULL: nothing, of an unknown holder. */
struct fair_share fair_share(const struct fair_holder *holder);
