/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: parses one line of the input of import: a message with labels or sensed data, or a
 * message in the format of export. No I/O.
 */
#pragma once

#include "client/cli/input/jsonline.h"
#include "client/hearsay.h"

struct record {
    json_t *object;                  /* owned; the strings of the line are borrowed from it */
    struct hearsay_context *context; /* owned; NULL with has_filter */
    bool has_filter;
    struct hearsay_filter filter;
    const char *profile;    /* of the filter; NULL without has_filter */
    const char *host;       /* NULL: not given */
    const char *media_type; /* NULL: text/plain */
    const void *payload;    /* borrowed from object or decoded */
    size_t payload_bytes;
    uint8_t *decoded; /* owned */
    uint64_t epoch;
    bool has_epoch;
    uint32_t ttl_s; /* 0: not given */
    uint32_t reach;
    bool has_expiry;
    int64_t expires_ms;
    bool has_id;
    uint8_t id[HEARSAY_ID_BYTES];
    bool has_hash;
    bool no_withdrawal; /* the line has withdraw_hash: null */
    uint8_t withdraw_hash[HEARSAY_HASH_BYTES];
    bool is_answer;
    uint8_t answers[HEARSAY_ID_BYTES]; /* the id of the message that this one answers */
};

/*
 * Parses a line. Returns 0, JSONLINE_WRONG or JSONLINE_NOMEM. Call record_deinit afterwards, also
 * after an error.
 */
int record_parse(const char *line, size_t length, struct record *out_record,
                 struct jsonline_error *out_error);
void record_deinit(struct record *record);

/*
 * Computes the remaining lifetime of a message in seconds; 0 means the server's default. `now_ms`
 * is the time of the server. Returns false if the message has expired, or has less than a second
 * left.
 */
bool record_ttl(const struct record *record, int64_t now_ms, uint32_t *out_ttl_s);
