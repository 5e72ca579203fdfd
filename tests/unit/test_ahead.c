/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that are read ahead come in order, whole and once, with and without a thread, however long
 * they are and wherever the source or the visitor ends.
 */
#include "daemon/store/thread/replay.h"

#include <sqlite3.h>

#include "tests/lib/check.h"

enum {
    MANY = STORE_AHEAD_ROWS * STORE_AHEAD_BATCHES * 3 + 7,
    LONG_BYTES = STORE_AHEAD_BYTES + 1, /* a row with more than a batch has room for */
    STOPPED = -77
};

/* Rows whose bytes are overwritten by the next row, as those of SQLite are. */
struct rows {
    int64_t read;
    int64_t count;
    int last_rc;
    size_t (*length_of)(int64_t row);
    uint8_t filter[LONG_BYTES];
    char media_type[8];
};

struct visits {
    int64_t count;
    int64_t stop_at; /* 0: never */
    size_t (*length_of)(int64_t row);
};

static struct rows rows;

static size_t short_rows(int64_t row)
{
    return (size_t)(row % 64);
}

/* Some rows fill a batch by themselves, and some leave room for one more. */
static size_t uneven_rows(int64_t row)
{
    return row % 5 == 0   ? LONG_BYTES - 8
           : row % 3 == 0 ? STORE_AHEAD_BYTES / 2
           : row % 7 == 0 ? STORE_AHEAD_BYTES - 8
                          : 30;
}

static int read_row(void *context, struct persist_message *out_message)
{
    (void)context;
    assert_in_range(rows.read, 0, rows.count); /* never after the end */
    if (rows.read++ == rows.count) {
        return rows.last_rc;
    }
    memset(rows.filter, (int)(rows.read & 0xff), sizeof(rows.filter));
    memset(rows.media_type, 'a' + (int)(rows.read % 20), sizeof(rows.media_type));
    *out_message = (struct persist_message){.seq = rows.read,
                                            .filter = rows.filter,
                                            .filter_bytes = rows.length_of(rows.read),
                                            .media_type = rows.media_type,
                                            .media_type_bytes = sizeof(rows.media_type)};
    return SQLITE_ROW;
}

static int check_row(void *context, const struct persist_message *message)
{
    struct visits *visits = context;
    size_t length = visits->length_of(++visits->count);

    assert_int_equal(message->seq, visits->count);
    assert_int_equal(message->filter_bytes, length);
    assert_null(message->payload);
    for (size_t i = 0; i < length; i += length / 3 + 1) {
        assert_int_equal(message->filter[i], message->seq & 0xff);
    }
    assert_int_equal(message->media_type[0], 'a' + message->seq % 20);
    return visits->count == visits->stop_at ? STOPPED : 0;
}

static void check_visits(int64_t count, int last_rc, size_t (*length_of)(int64_t row),
                         int64_t stop_at)
{
    const struct store_ahead_source source = {read_row, NULL};

    for (int has_thread = 0; has_thread < 2; has_thread++) {
        struct visits visits = {.stop_at = stop_at, .length_of = length_of};
        int code = 0;

        rows.read = 0;
        rows.count = count;
        rows.last_rc = last_rc;
        rows.length_of = length_of;
        int rc = store_ahead_visit(&source, has_thread != 0, check_row, &visits, &code);
        assert_int_equal(code, stop_at != 0 ? STOPPED : 0);
        assert_int_equal(visits.count, stop_at != 0 ? stop_at : count);
        if (stop_at == 0) {
            assert_int_equal(rc, last_rc);
        }
    }
}

TEST(rows_come_in_order)
{
    check_visits(0, SQLITE_DONE, short_rows, 0);
    check_visits(1, SQLITE_DONE, short_rows, 0);
    check_visits(STORE_AHEAD_ROWS, SQLITE_DONE, short_rows, 0);
    check_visits(MANY, SQLITE_DONE, short_rows, 0);
    check_visits(200, SQLITE_DONE, uneven_rows, 0);
}

/* The messages before a row that cannot be read are visited first, as without reading ahead. */
TEST(a_failure_comes_in_its_place)
{
    check_visits(0, SQLITE_CORRUPT, short_rows, 0);
    check_visits(MANY, SQLITE_CORRUPT, short_rows, 0);
    check_visits(MANY, SQLITE_FULL, short_rows, 0);
    check_visits(41, SQLITE_IOERR, uneven_rows, 0);
}

TEST(the_visitor_ends_it)
{
    check_visits(MANY, SQLITE_DONE, short_rows, 1);
    check_visits(MANY, SQLITE_DONE, short_rows, STORE_AHEAD_ROWS);
    check_visits(MANY, SQLITE_CORRUPT, short_rows, MANY);
    check_visits(200, SQLITE_DONE, uneven_rows, 100);
}
