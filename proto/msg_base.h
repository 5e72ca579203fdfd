/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_base: the types that requests and responses have in common: bytes, texts, errors and
 * enumerations. Include proto/msg.h.
 */
#ifndef PROTO_MSG_BASE_H
#define PROTO_MSG_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

/*
 * A field of bytes. `data` is NULL if the field is absent. If the field is present, `data` is not
 * NULL, also where `count` is 0.
 */
struct msg_bytes {
    const uint8_t *data;
    size_t count;
};

/*
 * A field with a text in UTF-8. `text` is NULL if the field is absent. A decoded text ends with a
 * NUL, which `length` does not count, and has no other NUL. A text to be encoded needs no NUL at
 * its end.
 */
struct msg_text {
    const char *text;
    size_t length;
};

/* The numbers of ErrorCode in hearsay.proto. */
enum msg_error_code {
    MSG_MALFORMED = 1,
    MSG_UNSUPPORTED_VERSION = 2,
    MSG_UNSUPPORTED = 3,
    MSG_INVALID = 4,
    MSG_UNKNOWN_HOST = 5,
    MSG_UNKNOWN_EPOCH = 6,
    MSG_PROFILE_MISMATCH = 7,
    MSG_TOO_LARGE = 8,
    MSG_FILL_OUT_OF_RANGE = 9,
    MSG_RATE_LIMITED = 10,
    MSG_QUOTA = 11,
    MSG_NOT_FOUND = 12,
    MSG_ALREADY_EXISTS = 13,
    MSG_FORBIDDEN = 14,
    MSG_STORAGE = 15,
    MSG_SHUTTING_DOWN = 16,
    MSG_INTERNAL = 17,
    MSG_REMOVED = 18,
    MSG_ERROR_LAST = MSG_REMOVED
};

/*
 * Returns the name of an error code, such as "MALFORMED", or "UNKNOWN" for any other number. Static
 * storage.
 */
const char *msg_error_name(enum msg_error_code code);

struct msg_error {
    enum msg_error_code code;
    char message[LIMIT_ERROR_BYTES + 1]; /* a sentence for people */
    char field[LIMIT_FIELD_BYTES +
               1]; /* the name of the field of the request that is wrong; "": no field is named */
    uint64_t retry_after_ms; /* 0: not said */
    uint32_t versions[LIMIT_VERSIONS];
    uint32_t version_count;
};

/*
 * Fills an error. `format` and its arguments make the sentence as in printf. A sentence longer than
 * LIMIT_ERROR_BYTES is cut on a character boundary, and so is a field's name longer than
 * LIMIT_FIELD_BYTES. Each byte of the sentence that is not UTF-8, for example of a path, becomes a
 * question mark. field NULL: no field is named.
 */
void msg_error_set(struct msg_error *error, enum msg_error_code code, const char *field,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Copies a text of `length` bytes of UTF-8, and a NUL behind it, into out_text, which has
 * `capacity` >= 1 bytes. A text that does not fit is cut on a character boundary.
 */
void msg_text_copy(char *out_text, size_t capacity, const char *text, size_t length);

enum msg_metric {
    MSG_METRIC_BITS = 1,
    MSG_METRIC_PHI = 3,
    MSG_METRIC_DEFAULT = MSG_METRIC_PHI /* of queries that name no metric */
};
enum msg_order { MSG_ORDER_SIMILARITY = 1, MSG_ORDER_TIME = 2, MSG_ORDER_NEWEST = 3 };
enum msg_scope { MSG_SCOPE_HERE = 1, MSG_SCOPE_HOOD = 2 };
enum msg_evict { MSG_EVICT_REJECT = 1, MSG_EVICT_OLDEST = 2, MSG_EVICT_SOONEST_EXPIRING = 3 };
enum msg_report_kind {
    MSG_REPORT_ILLEGAL = 1,
    MSG_REPORT_ABOUT_ME = 2,
    MSG_REPORT_HARASSMENT = 3,
    MSG_REPORT_SPAM = 4,
    MSG_REPORT_OTHER = 5
};
enum msg_acceptance { MSG_ACCEPT_OPEN = 1, MSG_ACCEPT_REVIEW = 2, MSG_ACCEPT_CLOSED = 3 };
enum msg_durability {
    MSG_DURABILITY_STORAGE = 1,
    MSG_DURABILITY_RELAXED = 2,
    MSG_DURABILITY_REPLICATED = 3
};
enum msg_role { MSG_ROLE_OWNER = 1, MSG_ROLE_REPLICA = 2, MSG_ROLE_RESTORING = 3 };
enum msg_why { MSG_WHY_WITHDRAWN = 1, MSG_WHY_REMOVED = 2, MSG_WHY_EVICTED = 3 };
enum msg_apply_as { MSG_AS_REPLICA = 1, MSG_AS_RESTORE = 2, MSG_AS_OPERATOR = 3 };

#endif
