/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_review: the rows of the table `moderation`, one for each message that was reported or
 * reviewed, is hidden, or waits for review. All functions run within a transaction. Results are
 * SQLite's codes.
 */
#ifndef DAEMON_STORE_REVIEW_H
#define DAEMON_STORE_REVIEW_H

#include "daemon/store/database.h"

enum { STORE_REASONS_BYTES_MAX = PERSIST_REASONS_KEPT * (PERSIST_WORDS_BYTES_MAX + 1) };

/* A row of the table. */
struct store_review {
    int64_t seq; /* of the message */
    enum persist_state state;
    uint32_t reports;
    int64_t destroy_ms; /* of a removed message; else 0 */
    int64_t removed_ms; /* of a removed message; else 0 */
    int64_t change_seq; /* the number of the change, if it is not the message's own; 0: others are
                           not told, or the message's number tells them */
    size_t reasons_bytes;
    char reasons[STORE_REASONS_BYTES_MAX + 1]; /* one line for each reason, and a NUL */
};

/*
 * Reads the row of a message. A message without a row has PERSIST_SHOWN and zeros. Returns
 * SQLITE_CORRUPT if the row is damaged.
 */
int store_review_find(struct store_database *database, int64_t seq, struct store_review *out_row);

int store_review_put(struct store_database *database, const struct store_review *row);

/* As store_review_put, and the row takes the number of a change of `message`. */
int store_review_change(struct store_database *database, const struct persist_message *message,
                        struct store_review *row);

/* Stores the state and the number of reports of a new message. */
int store_review_begin(struct store_database *database, const struct persist_message *message);

/*
 * Reads the state and the number of reports of a message, as store_review_find does.
 */
int store_review_state(struct store_database *database, int64_t seq, enum persist_state *out_state,
                       uint32_t *out_reports);

/* How many of the reasons, one on each line, are grave (see `words` in persist.h). */
uint32_t store_review_count_grave(const char *reasons, size_t bytes);

/* Appends the reason of a report. `words` in persist.h says which reason is deleted for it. */
void store_review_add_reason(struct store_review *row, const char *words, size_t bytes);

/* A part of PERSIST_REPLICATE: gives a number to each row of the host without one. */
int store_review_number(struct store_database *database, uint32_t host);

#endif
