/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reports: which sender has reported which message, so that each sender counts once for a message.
 * Kept in memory only, as keyed hashes of host, message and sender: no address can be read from the
 * hashes.
 *
 * The memory is bounded. There are two generations of hashes. If REPORTS_KEPT hashes were put into
 * the newer generation, the next report clears the older one, which becomes the newer one. A sender
 * whose hash was cleared may report the same message again. So may every sender after a restart.
 */
#ifndef DAEMON_HOST_REPORTS_H
#define DAEMON_HOST_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

enum { REPORTS_KEPT = 8192, REPORTS_SLOTS = 2 * REPORTS_KEPT, REPORTS_KEY_BYTES = 16 };

struct reports {
    uint8_t key[REPORTS_KEY_BYTES];
    uint32_t used;                    /* hashes that were put into the newer generation */
    unsigned newer;                   /* index of the newer generation */
    uint64_t slots[2][REPORTS_SLOTS]; /* open addressing; 0: free */
};

/* Empty, with a random key. */
void reports_init(struct reports *reports);

/*
 * Records that a sender has reported a message. Returns false if this report is recorded already.
 * O(1)
 */
bool reports_note(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender);

/* Removes the record of a report, because the report was not stored. */
void reports_forget(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender);

#endif
