/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports: who has reported what, so that each sender counts once for a message. Kept in memory
 * only, and only as a keyed hash of host, message and sender: neither can be read out of it.
 *
 * Bounded: two generations of hashes. When the newer one is full the older one is forgotten, so
 * that the latest REPORTS_KEPT are known at least, and twice as many at most. Whoever is forgotten
 * may count again; so does everyone after a restart.
 */
#ifndef DAEMON_HOST_REPORTS_H
#define DAEMON_HOST_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

enum { REPORTS_KEPT = 8192, REPORTS_SLOTS = 2 * REPORTS_KEPT, REPORTS_KEY_BYTES = 16 };

struct reports {
    uint8_t key[REPORTS_KEY_BYTES];
    uint32_t used;                    /* of the newer generation */
    unsigned newer;                   /* which of the two it is */
    uint64_t slots[2][REPORTS_SLOTS]; /* open addressing; 0: free */
};

/* An empty one with a random key. */
void reports_init(struct reports *reports);

/*
 * Notes that a sender (any number that tells senders apart) has reported a message: false when that
 * was known already. O(1).
 */
bool reports_note(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender);

/* Takes it back: it did not come to anything. Until it is noted again. */
void reports_forget(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender);

#endif
