/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/review_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"

/* A message while the list is put in order. */
struct row {
    const struct moderated *moderated;
    uint16_t turn;
};

enum {
    CURSOR_LIST = 'r', /* the first byte of a cursor; those of the list of all have another one */
    CURSOR_GRAVE = 1,
    CURSOR_BEYOND = 2,
    CURSOR_PENDING = 4
};

/* -1, 0 or 1: whether the larger number comes first. */
static int larger_first(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static bool is_pending(const struct moderated *moderated)
{
    return moderated->state == PERSIST_PENDING;
}

/* Orders two messages of one sender, or of one turn. */
static int compare_urgency(const struct moderated *a, const struct moderated *b)
{
    int by_beyond = larger_first(a->is_beyond, b->is_beyond);
    int by_senders = larger_first(moderation_senders(a), moderation_senders(b));

    if (by_beyond != 0 || by_senders != 0) {
        return by_beyond != 0 ? by_beyond : by_senders;
    }
    if (a->deposited_ms != b->deposited_ms) {
        bool is_first = a->deposited_ms > b->deposited_ms;
        return is_first != is_pending(a) ? -1 : 1;
    }
    return memcmp(a->id, b->id, MESSAGE_ID_BYTES);
}

/* Puts the messages of each sender together, for give_turns. */
static int compare_by_sender(const void *left, const void *right)
{
    const struct moderated *a = ((const struct row *)left)->moderated;
    const struct moderated *b = ((const struct row *)right)->moderated;
    int by_grave = larger_first(a->grave > 0, b->grave > 0);

    if (by_grave != 0 || a->sender != b->sender) {
        return by_grave != 0 ? by_grave : larger_first(a->sender, b->sender);
    }
    return compare_urgency(a, b);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    int by_grave = larger_first(a->moderated->grave > 0, b->moderated->grave > 0);

    if (by_grave != 0 || a->turn != b->turn) {
        return by_grave != 0 ? by_grave : larger_first(b->turn, a->turn);
    }
    return compare_urgency(a->moderated, b->moderated);
}

/* Sets the turns of rows that are in the order of compare_by_sender. A sender that is not known,
 * since before the start, has a first turn for each message. */
static void give_turns(struct row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct moderated *before = rows[i - 1].moderated;
        const struct moderated *one = rows[i].moderated;
        bool is_next = one->sender != 0 && one->sender == before->sender &&
                       (one->grave > 0) == (before->grave > 0);

        rows[i].turn = rows[i - 1].turn;
        if (!is_next) {
            rows[i].turn = 0;
        } else if (rows[i].turn < UINT16_MAX) {
            rows[i].turn++;
        }
    }
}

static bool is_wanted(const struct moderated *moderated, const struct hearsay_reported *asked,
                      int64_t now_ms)
{
    if (asked->withheld) {
        return moderated->state == PERSIST_WITHHELD &&
               !message_expired(moderated->expires_ms, now_ms);
    }
    return moderation_is_open(moderated, now_ms) && is_pending(moderated) == asked->pending;
}

/* --- cursors ---------------------------------------------------------------------------------- */

/* Big-endian, so that a cursor is the same on each machine. */
static void put_number(uint8_t **at, uint64_t number, size_t bytes)
{
    for (size_t i = bytes; i-- > 0;) {
        *(*at)++ = (uint8_t)(number >> 8 * i);
    }
}

static uint64_t take_number(const uint8_t **at, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | *(*at)++;
    }
    return number;
}

void review_write_cursor(const struct review_place *place, uint8_t out_cursor[REVIEW_CURSOR_BYTES])
{
    const struct moderated *moderated = &place->moderated;
    uint8_t *at = out_cursor;

    put_number(&at, CURSOR_LIST, 1);
    put_number(&at,
               (moderated->grave > 0 ? CURSOR_GRAVE : 0) |
                   (moderated->is_beyond ? CURSOR_BEYOND : 0) |
                   (is_pending(moderated) ? CURSOR_PENDING : 0),
               1);
    put_number(&at, place->turn, 2);
    put_number(&at, moderation_senders(moderated), 4);
    put_number(&at, (uint64_t)moderated->deposited_ms, 8);
    memcpy(at, moderated->id, MESSAGE_ID_BYTES);
}

/* Reads a cursor as the message whose place it is. False: it is no cursor of such a list. */
static bool read_cursor(const struct hearsay_bytes *cursor, struct moderated *out_moderated,
                        struct row *out_row)
{
    const uint8_t *at = cursor->data;

    if (cursor->count != REVIEW_CURSOR_BYTES || take_number(&at, 1) != CURSOR_LIST) {
        return false;
    }
    uint64_t flags = take_number(&at, 1);
    out_row->turn = (uint16_t)take_number(&at, 2);
    *out_moderated = (struct moderated){
        .grave = (flags & CURSOR_GRAVE) != 0,
        .is_beyond = (flags & CURSOR_BEYOND) != 0,
        .state = (flags & CURSOR_PENDING) != 0 ? PERSIST_PENDING : PERSIST_SHOWN,
        .reports = (uint32_t)take_number(&at, 4),
    };
    out_moderated->deposited_ms = (int64_t)take_number(&at, 8);
    memcpy(out_moderated->id, at, MESSAGE_ID_BYTES);
    out_row->moderated = out_moderated;
    return true;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Collects the wanted messages, and puts them in order. Returns how many there are. */
static size_t order_rows(struct row *rows, const struct moderation *moderation,
                         const struct hearsay_reported *asked, int64_t now_ms)
{
    size_t count = 0;

    for (uint32_t i = 0; i < moderation->count; i++) {
        if (is_wanted(&moderation->entries[i], asked, now_ms)) {
            rows[count++] = (struct row){.moderated = &moderation->entries[i]};
        }
    }
    if (count > 1) {
        qsort(rows, count, sizeof(*rows), compare_by_sender);
        give_turns(rows, count);
        qsort(rows, count, sizeof(*rows), compare_rows);
    }
    return count;
}

int review_choose(const struct moderation *moderation, const struct hearsay_reported *asked,
                  int64_t now_ms, size_t most, struct review_place *places, uint64_t *out_total)
{
    struct moderated moderated;
    struct row after = {.moderated = NULL};
    size_t first = 0;
    int chosen = 0;

    if (asked->after.data != NULL && !read_cursor(&asked->after, &moderated, &after)) {
        return REVIEW_NO_CURSOR;
    }
    *out_total = 0;
    if (moderation->count == 0) {
        return 0;
    }
    struct row *rows = alloc_array(moderation->alloc, moderation->count, sizeof(*rows));
    if (rows == NULL) {
        return -ERR_NOMEM;
    }
    size_t count = order_rows(rows, moderation, asked, now_ms);
    while (asked->after.data != NULL && first < count && compare_rows(&rows[first], &after) <= 0) {
        first++;
    }
    for (size_t i = first; i < count && (size_t)chosen < most; i++) {
        places[chosen++] =
            (struct review_place){.moderated = *rows[i].moderated, .turn = rows[i].turn};
    }
    alloc_release(moderation->alloc, rows);
    *out_total = count;
    return chosen;
}
