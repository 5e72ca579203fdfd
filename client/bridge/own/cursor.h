/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor: how far a host is published, in a file of the state directory. Losing the file costs
 * nothing but publishing all again: states may be sent any number of times.
 */
#ifndef CLIENT_BRIDGE_OWN_CURSOR_H
#define CLIENT_BRIDGE_OWN_CURSOR_H

#include <stdint.h>

#include "proto/limits.h"

/*
 * As the place of the own head: the hub has lost it. A number that no head ever has, so that a
 * write which expects it is always refused. The old place would not do: a hub that was restored
 * from a backup gives numbers again, and another store's head may come to stand there.
 */
#define CURSOR_HEAD_LOST ((uint64_t)INT64_MAX)

struct cursor {
    uint8_t store_id[LIMIT_ID_BYTES];
    uint64_t seq; /* all changes up to here are at the hub */
    uint64_t
        term; /* the store's number among the owners of the host; 0: the hub does not know it */
    uint64_t head; /* where the own head is in the stream, or CURSOR_HEAD_LOST; 0: there is none,
                    * and in the file: the store was restored, and no head of it was accepted yet */
};

/* Reads the file of a host. All zero where the file is absent, damaged or cannot be read. */
void cursor_load(const char *directory, const char *host, struct cursor *out);

/* Replaces the file (fsync, rename). 0, or an errno. */
int cursor_save(const char *directory, const char *host, const struct cursor *cursor);

/* Removes the file. 0, or an errno; an absent file is fine. */
int cursor_remove(const char *directory, const char *host);

#endif
