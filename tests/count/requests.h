/* SPDX-License-Identifier: Apache-2.0 */
/* requests: made-up messages, and the frames that deposit them or ask for the nearest. */
#pragma once

#include "daemon/store/persist.h"
#include "proto/bytes.h"
#include "tests/bench/filters.h"

enum { REQUESTS_PAYLOAD_BYTES = 200, REQUESTS_K = 10 };

/*
 * Makes the filters of one of the workloads that tests/bench/filters.h names. They have the default
 * profile of hearsayd, and strong access points have several labels, as in a scan of libhearsay.
 * The caller owns *out (filters_deinit).
 */
void requests_make_filters(const char *workload, size_t count, uint32_t copies,
                           struct filters *out);

/* What a message has beside its filter; all of it follows from the number. */
struct requests_message {
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[PROFILE_BYTES_MAX];
    size_t filter_bytes;
    uint8_t payload[REQUESTS_PAYLOAD_BYTES];
};

void requests_make_message(const struct filters *filters, size_t number,
                           struct requests_message *out);

/* The same as the store and the host have it. *out borrows from `message`. */
void requests_describe(const struct requests_message *message, int64_t now_ms,
                       struct persist_message *out);

/* Append a frame. `number` is also the id of the request. */
void requests_add_deposit(const struct filters *filters, size_t number, struct bytes *out);
void requests_add_query(const struct filters *filters, size_t number, struct bytes *out);
