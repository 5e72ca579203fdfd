/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "daemon/store/log.h"

enum {
    /*
     * A deposit that evicts nothing changes about four pages: two of the table `message`, one of
     * the table `moderation` and one of the table `meta`.
     */
    PAGES_OF_DEPOSIT = 4,
    /*
     * An estimate of the pages that a withdrawal changes: one each of the tables `message`,
     * `moderation`, `meta` and `tombstone`, and the index of `tombstone`, and pages of the free
     * list.
     */
    PAGES_OF_REMOVAL = 8,
    /*
     * Bytes of a message in the database without filter, media type and payload. Measured with
     * 100,000 messages and rounded up.
     */
    ROW_BYTES = 128,
    MIB = 1024 * 1024
};

uint64_t store_space_free(const char *path)
{
    struct statvfs info;

    if (statvfs(path, &info) != 0 || info.f_blocks == 0) {
        return UINT64_MAX;
    }
    return (uint64_t)info.f_bavail * info.f_frsize;
}

uint64_t store_space_of_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

static uint64_t space_excess(uint64_t wanted, uint64_t there)
{
    return wanted > there ? wanted - there : 0;
}

void store_space_measure(uint64_t free, uint64_t log_limit, uint64_t log_bytes, uint64_t page_bytes,
                         uint64_t log_pages, struct store_space_room *out_room)
{
    uint64_t in_log = log_pages * (page_bytes + STORE_LOG_FRAME_HEADER_BYTES);
    uint64_t kept = STORE_SPACE_MARGIN + in_log + space_excess(log_limit, log_bytes);

    *out_room = (struct store_space_room){
        .page_bytes = page_bytes,
        .log = space_excess(log_limit > log_bytes ? log_limit : log_bytes, in_log),
        .spare = space_excess(free, kept),
        .kept = free < STORE_SPACE_MARGIN / 2 ? free : STORE_SPACE_MARGIN / 2,
        .is_closed = free < kept - STORE_SPACE_MARGIN / 2,
    };
}

bool store_space_is_deposit(const struct persist_op *op)
{
    return op->kind == PERSIST_DEPOSIT ||
           (op->kind == PERSIST_APPLY && op->change == PERSIST_CHANGE_MESSAGE &&
            op->as != PERSIST_AS_OPERATOR);
}

void store_space_add(struct store_space_need *need, const struct persist_op *op)
{
    const struct persist_message *message = &op->message;
    uint64_t frame = need->page_bytes + STORE_LOG_FRAME_HEADER_BYTES;

    if (!store_space_is_deposit(op)) {
        uint64_t removals = op->kind == PERSIST_EXPIRE ? op->limit : 1;

        need->log += removals * PAGES_OF_REMOVAL * frame;
        return;
    }
    /* No overflow: a message comes in one frame, which has at most 1 MiB. */
    uint64_t bytes =
        (uint64_t)message->payload_bytes + message->filter_bytes + message->media_type_bytes;

    need->log += bytes + bytes / 16 + PAGES_OF_DEPOSIT * frame;
    need->growth += bytes + bytes / 8 + need->page_bytes;
}

bool store_space_fits(const struct store_space_room *room, const struct store_space_need *need)
{
    return !room->is_closed &&
           space_excess(need->log, room->log) + space_excess(need->growth, room->reusable) <=
               room->spare;
}

bool store_space_fits_log(const struct store_space_room *room, const struct store_space_need *need)
{
    return space_excess(need->log, room->log) <= room->spare + room->kept;
}

bool store_space_suffices(const char *path, uint64_t messages, uint64_t bytes, uint64_t log_limit,
                          uint64_t room, char *out_reason)
{
    /* The sum cannot overflow: the configuration allows at most 16 million messages and 16 GiB. */
    uint64_t needed = bytes + bytes / 16 + messages * ROW_BYTES + log_limit + STORE_SPACE_MARGIN;

    if (needed <= room) {
        return true;
    }
    (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                   "`messages` and `bytes` allow a store of %" PRIu64 " MiB with its log, but the "
                   "file system of %.160s has room for %" PRIu64 " MiB: deposits will be refused "
                   "before the limits are reached; lower `messages` or `bytes`",
                   needed / MIB, path, room / MIB);
    return false;
}
