/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/wire/subject.h"
#include "core/base/err.h"
#include "core/base/hash.h"

/* Of subjects that are looked at; others are left alone. More than a reader takes (missing). */
enum { SEEN_MAX = 2000000 };

struct scan {
    struct erase *erase;
    struct follow *follow;
    struct table seen; /* by the hash of a subject: its newest message so far */
    char stream[SUBJECT_BYTES];
};

static void on_took(void *context, const struct follow_message *message)
{
    struct scan *scan = context;
    uint8_t key[TABLE_KEY_BYTES];
    struct hash128 hash = hash128_seeded(message->subject, strlen(message->subject), 0);

    if (subject_is_head(message->subject)) {
        return; /* a head has nothing to hide */
    }
    memcpy(key, &hash.low64, sizeof(hash.low64));
    memcpy(key + sizeof(hash.low64), &hash.high64, sizeof(hash.high64));
    struct table_row *row = table_find(&scan->seen, key);

    if (row == NULL && scan->seen.count < SEEN_MAX) {
        row = table_add(&scan->seen, key);
    }

    if (row == NULL) {
        return; /* no memory: the next scan erases it; or too many */
    }
    if (row->seq != 0) {
        erase_message(scan->erase, scan->stream, row->seq);
    }
    row->seq = message->seq;
}

static bool on_room(void *context)
{
    const struct scan *scan = context;

    return erase_has_room(scan->erase);
}

static void on_began(void *context)
{
    struct scan *scan = context;

    table_clear(&scan->seen);
}

static void on_caught_up(void *context)
{
    scan_parted(context);
}

static const struct follow_events follow_events = {on_took, on_room, on_began, on_caught_up, NULL};

int scan_new(uv_loop_t *loop, struct wire *wire, struct erase *erase,
             const struct follow_source *source, struct scan **out_scan)
{
    struct scan *scan = calloc(1, sizeof(*scan));
    struct follow_source own = *source;

    if (scan == NULL) {
        return -ERR_NOMEM;
    }
    own.is_scan = true;
    own.head_ms = 0;
    scan->erase = erase;
    (void)snprintf(scan->stream, sizeof(scan->stream), "%s", source->stream);
    int rc = follow_new(loop, wire, &own, &follow_events, scan, &scan->follow);
    if (rc != 0) {
        free(scan);
        return rc;
    }
    *out_scan = scan;
    return 0;
}

void scan_begin(struct scan *scan)
{
    follow_parted(scan->follow);
    follow_restart(scan->follow);
}

void scan_go(struct scan *scan)
{
    follow_go(scan->follow);
}

void scan_parted(struct scan *scan)
{
    follow_parted(scan->follow);
    table_clear(&scan->seen);
}

void scan_stop(struct scan *scan)
{
    if (scan != NULL) {
        follow_stop(scan->follow);
    }
}

void scan_free(struct scan *scan)
{
    if (scan != NULL) {
        table_clear(&scan->seen);
        free(scan);
    }
}
