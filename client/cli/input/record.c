/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/record.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/input/input.h"

static const char *const keys[] = {
    SENSED_KEYS, "text",   "payload_base64", "type",  "ttl",     "id",
    "reach",     "filter", "profile",        "epoch", "expires", "withdraw_hash",
    "deposited", "host",   "answers",        NULL,
};

static int read_context(struct record *record, struct jsonline_error *error)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int status = jsonline_base64(record->object, "filter", &bytes, &count, error);
    if (status == 0) {
        status = jsonline_string(record->object, "profile", &record->profile, error);
    }
    if (status == 0) {
        status = sensed_parse(record->object, &record->context, error);
    }
    if (status == 0 && (bytes != NULL) == (record->context != NULL)) {
        status = jsonline_wrong(
            error,
            "either \"labels\" or \"filter\" is needed, or what is sensed, such as \"wifi\"");
    }
    if (status == 0 && (bytes != NULL) != (record->profile != NULL)) {
        status = jsonline_wrong(
            error,
            bytes == NULL
                ? "\"profile\" is of a \"filter\", and there is none"
                : "\"filter\" needs the \"profile\" that it was made for; exports of hearsay "
                  "0.2.0 have none, and their filters match nothing any more");
    }
    if (status != 0 || bytes == NULL) {
        free(bytes);
        return status;
    }
    if (count >= 1 && count <= HEARSAY_FILTER_BYTES_MAX) {
        memcpy(record->filter.bytes, bytes, count);
        record->filter.byte_count = (uint32_t)count;
        record->filter.bits = (uint32_t)count * 8;
        record->has_filter = true;
    } else {
        status = jsonline_wrong(error, "\"filter\" has %zu bytes, at most are %d", count,
                                HEARSAY_FILTER_BYTES_MAX);
    }
    free(bytes);
    return status;
}

static int read_payload(struct record *record, struct jsonline_error *error)
{
    const char *text = NULL;
    int status = jsonline_string(record->object, "text", &text, error);
    if (status == 0) {
        status = jsonline_base64(record->object, "payload_base64", &record->decoded,
                                 &record->payload_bytes, error);
    }
    if (status != 0) {
        return status;
    }
    if ((text != NULL) == (record->decoded != NULL)) {
        return jsonline_wrong(error, "either \"text\" or \"payload_base64\" is needed");
    }
    record->payload = record->decoded;
    record->media_type = record->decoded != NULL ? "application/octet-stream" : NULL;
    if (text != NULL) {
        record->payload = text;
        record->payload_bytes = json_string_length(json_object_get(record->object, "text"));
    }
    return jsonline_string(record->object, "type", &record->media_type, error);
}

static int read_expiry(struct record *record, struct jsonline_error *error)
{
    const char *text = NULL;
    int status = jsonline_seconds(record->object, "ttl", &record->ttl_s, error);
    if (status == 0) {
        status = jsonline_string(record->object, "expires", &text, error);
    }
    if (status != 0 || text == NULL) {
        return status;
    }
    if (record->ttl_s != 0) {
        return jsonline_wrong(error, "\"ttl\" and \"expires\" exclude each other");
    }
    if (when_parse(text, &record->expires_ms) != 0) {
        return jsonline_wrong(error, "\"expires\" is not a time such as 2026-11-20T14:00:00.000Z");
    }
    record->has_expiry = true;
    return 0;
}

static int read_ids(struct record *record, struct jsonline_error *error)
{
    int status =
        jsonline_hex(record->object, "id", record->id, HEARSAY_ID_BYTES, &record->has_id, error);
    if (status == 0) {
        status = jsonline_hex(record->object, "withdraw_hash", record->withdraw_hash,
                              HEARSAY_HASH_BYTES, &record->has_hash, error);
    }
    if (status == 0) {
        status = jsonline_hex(record->object, "answers", record->answers, HEARSAY_ID_BYTES,
                              &record->is_answer, error);
    }
    record->no_withdrawal = json_is_null(json_object_get(record->object, "withdraw_hash"));
    return status;
}

static int read_rest(struct record *record, struct jsonline_error *error)
{
    int status = jsonline_distance(record->object, "reach", &record->reach, error);
    if (status == 0) {
        status = jsonline_number(record->object, "epoch", 0, INT64_MAX, &record->epoch, error);
    }
    record->has_epoch = json_is_integer(json_object_get(record->object, "epoch"));
    return status == 0 ? jsonline_string(record->object, "host", &record->host, error) : status;
}

int record_parse(const char *line, size_t length, struct record *out_record,
                 struct jsonline_error *out_error)
{
    static int (*const readers[])(struct record *, struct jsonline_error *) = {
        read_context, read_payload, read_expiry, read_ids, read_rest};
    memset(out_record, 0, sizeof(*out_record));
    out_record->reach = HEARSAY_DISTANCE_ONE;
    int status = jsonline_parse(line, length, keys, &out_record->object, out_error);
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]) && status == 0; i++) {
        status = readers[i](out_record, out_error);
    }
    return status;
}

void record_deinit(struct record *record)
{
    hearsay_context_free(record->context);
    free(record->decoded);
    json_decref(record->object);
    memset(record, 0, sizeof(*record));
}

bool record_ttl(const struct record *record, int64_t now_ms, uint32_t *out_ttl_s)
{
    if (!record->has_expiry) {
        *out_ttl_s = record->ttl_s;
        return true;
    }
    /* The protocol takes whole seconds. Round down: a message must not live longer than its line
     * says. */
    int64_t left_s = when_difference(record->expires_ms, now_ms) / 1000;
    if (left_s < 1) {
        return false;
    }
    *out_ttl_s = left_s > UINT32_MAX ? UINT32_MAX : (uint32_t)left_s;
    return true;
}
