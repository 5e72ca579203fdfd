/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg: requests and responses as plain structs, without protobuf. proto/generate.py makes the
 * structs from hearsay.proto, with its comments. They are in proto/messages.h, which is installed
 * with the headers of libhearsay, so their names begin with hearsay_; those that begin with msg_
 * the library shows to its callers as other structs.
 *
 * A decoded message points to memory of the arena that the decoder was given, or to static storage.
 * A message to be encoded borrows the memory that it points to from the caller. An absent number
 * has the value that the schema gives for it, else 0. Where a struct shows whether a field is
 * present, it has a has_ flag, or the pointer to an absent field is NULL. A repeated field has its
 * number of entries beside it: versions has version_count.
 * Units: _ms is Unix milliseconds (in retry_after_ms a duration), _s seconds, _ppm millionths.
 */
#pragma once

#include "proto/limits.h"
#include "proto/messages.h"

/* The metric of queries that name none. */
#define MSG_METRIC_DEFAULT HEARSAY_METRIC_PHI

/*
 * Returns the name of an error code, such as "MALFORMED", or "UNKNOWN" for any other number. Static
 * storage.
 */
const char *msg_error_name(enum hearsay_code code);

/*
 * Fills an error. `format` and its arguments make the sentence as in printf. A sentence longer than
 * LIMIT_ERROR_BYTES is cut on a character boundary, and so is a field's name longer than
 * LIMIT_FIELD_BYTES. Each byte of the sentence that is not UTF-8, for example of a path, becomes a
 * question mark. field NULL: no field is named.
 */
void msg_error_set(struct msg_error *error, enum hearsay_code code, const char *field,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether a change has a message, a message that is gone, or a rule, and only one of them. */
bool msg_change_has_content(const struct hearsay_change *change);

/*
 * Copies a text of `length` bytes of UTF-8, and a NUL behind it, into out_text, which has
 * `capacity` >= 1 bytes. A text that does not fit is cut on a character boundary.
 */
void msg_text_copy(char *out_text, size_t capacity, const char *text, size_t length);

/* Copies bytes to *at, and moves *at behind them. Returns the copy; NULL stays NULL. */
const void *msg_keep_bytes(uint8_t **at, const void *data, size_t count);
