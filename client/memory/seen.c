/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen: the file of the ids of messages that the user has seen. An id is kept until its message
 * expires. A query carries a scalable Bloom filter of the ids, and the server leaves the messages
 * with these ids out.
 *
 * The body of the file is an array of records: 16 bytes for the id, and 8 bytes for the time at
 * which the message expires, in milliseconds of the local Unix time. The local clock is used
 * because the file may have messages of several servers, whose clocks may differ.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/fail.h"
#include "client/keep.h"
#include "client/now.h"
#include "core/filter/scalable.h"
#include "proto/limits.h"

enum { RECORD_BYTES = HEARSAY_ID_BYTES + 8, RECORDS_MAX = 1 << 20, MISS_DEFAULT_PPM = 1000 };

static const struct keep_kind seen_kind = {
    .magic = "hearSeen",
    .what = "memory of messages seen",
    .body_bytes_max = (size_t)RECORDS_MAX * RECORD_BYTES,
    .record_bytes = RECORD_BYTES,
};

struct hearsay_seen {
    struct keep_file file;
    struct scalable filter;
    struct hearsay_slice slices[SCALABLE_SLICES_MAX]; /* of the filter, for queries */
};

size_t hearsay_seen_count(const struct hearsay_seen *seen)
{
    return seen->file.body.count / RECORD_BYTES;
}

/* Removes the records of expired messages and keeps the order of the others. */
static void forget_expired(struct hearsay_seen *seen, int64_t now_ms)
{
    uint8_t *data = seen->file.body.data;
    size_t kept = 0;
    for (size_t at = 0; at < seen->file.body.count; at += RECORD_BYTES) {
        if ((int64_t)keep_u64(data + at + HEARSAY_ID_BYTES) > now_ms) {
            memmove(data + kept, data + at, RECORD_BYTES);
            kept += RECORD_BYTES;
        }
    }
    seen->file.body.count = kept;
}

int hearsay_seen_open(const char *path, struct hearsay_seen **out_seen,
                      struct hearsay_error *out_error)
{
    *out_seen = NULL;
    if (sodium_init() < 0) {
        return fail_set(out_error, HEARSAY_ERR_SYSTEM, "the system gives no random numbers");
    }
    struct hearsay_seen *seen = calloc(1, sizeof(*seen));
    if (seen == NULL) {
        return fail_set_nomem(out_error);
    }
    int status = keep_open(&seen->file, path, &seen_kind, out_error);
    if (status < 0) {
        hearsay_seen_close(seen);
        return status;
    }
    forget_expired(seen, now_unix_ms());
    *out_seen = seen;
    return HEARSAY_OK;
}

void hearsay_seen_close(struct hearsay_seen *seen)
{
    if (seen != NULL) {
        scalable_deinit(&seen->filter);
        keep_close(&seen->file);
        free(seen);
    }
}

int hearsay_seen_add(struct hearsay_seen *seen, const uint8_t *id, int64_t lifetime_ms,
                     struct hearsay_error *out_error)
{
    if (lifetime_ms <= 0) {
        return HEARSAY_OK; /* nobody is shown it any more */
    }
    int64_t now_ms = now_unix_ms();
    int64_t expires_ms = lifetime_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + lifetime_ms;
    for (size_t at = 0; at < seen->file.body.count; at += RECORD_BYTES) {
        if (memcmp(seen->file.body.data + at, id, HEARSAY_ID_BYTES) == 0) {
            return HEARSAY_OK;
        }
    }
    if (hearsay_seen_count(seen) >= RECORDS_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%.300s holds %d messages that have not expired, the most it may: begin a "
                        "new file",
                        seen->file.path, RECORDS_MAX);
    }
    uint8_t record[RECORD_BYTES];
    memcpy(record, id, HEARSAY_ID_BYTES);
    keep_put_u64(record + HEARSAY_ID_BYTES, (uint64_t)expires_ms);
    return bytes_append(&seen->file.body, record, sizeof(record)) == 0 ? HEARSAY_OK
                                                                       : fail_set_nomem(out_error);
}

int hearsay_seen_save(const struct hearsay_seen *seen, struct hearsay_error *out_error)
{
    return keep_write(seen->file.path, &seen_kind, &seen->file.body, out_error);
}

/*
 * Returns how many bytes of a frame the slices of the filter may use. The other bytes are for the
 * rest of the query.
 */
static size_t room_for_slices(const struct hearsay *server, const struct hearsay_query *query)
{
    enum { ENVELOPE = 512, SLICE = 32, PART = 2 * HEARSAY_FILTER_BYTES_MAX + 64 };
    uint32_t told = hearsay_welcome(server)->limits.frame_bytes;
    size_t frame = told != 0 ? told : LIMIT_FRAME_BYTES_DEFAULT;
    size_t parts = query->part_count <= LIMIT_PARTS ? query->part_count : LIMIT_PARTS;
    size_t rest = ENVELOPE + LIMIT_SLICES * SLICE + parts * PART;
    return frame > rest ? frame - rest : 0;
}

/*
 * Builds the filter of all ids, with a new random seed each time: a message that one query leaves
 * out by a false positive very probably appears in the next query.
 */
static int seen_build(struct hearsay_seen *seen, uint32_t miss, size_t room,
                      struct hearsay_error *error)
{
    uint64_t seed = 0;
    randombytes_buf(&seed, sizeof(seed));
    scalable_deinit(&seen->filter);
    scalable_init(&seen->filter, alloc_system(), miss, seed, room);
    for (size_t at = 0; at < seen->file.body.count; at += RECORD_BYTES) {
        int rc = scalable_add(&seen->filter, seen->file.body.data + at, HEARSAY_ID_BYTES);
        if (rc == SCALABLE_FULL) {
            return fail_set(
                error, HEARSAY_ERR_ARGUMENT,
                "%.200s holds %zu messages that have not expired; the server's frames "
                "have room for the filter of %" PRIu64 ": begin a new file, or allow more misses",
                seen->file.path, hearsay_seen_count(seen), scalable_capacity(miss, room));
        }
        if (rc != 0) {
            return fail_set_nomem(error);
        }
    }
    return HEARSAY_OK;
}

int hearsay_seen_exclude(struct hearsay_seen *seen, const struct hearsay *server, uint32_t miss,
                         struct hearsay_query *query, struct hearsay_error *out_error)
{
    if (miss == 0) {
        miss = MISS_DEFAULT_PPM;
    }
    if (miss > SCALABLE_RATE_MAX_PPM) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the chance of missing a message is over 0.5");
    }
    forget_expired(seen, now_unix_ms());
    int status = seen_build(seen, miss, room_for_slices(server, query), out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    for (uint32_t i = 0; i < seen->filter.slice_count; i++) {
        const struct scalable_slice *slice = &seen->filter.slices[i];
        seen->slices[i] =
            (struct hearsay_slice){.bits = hearsay_bytes(slice->bits, slice->byte_count),
                                   .hashes = slice->hashes,
                                   .seed = slice->seed};
    }
    query->exclude = seen->slices;
    query->exclude_count = seen->filter.slice_count;
    return HEARSAY_OK;
}
