/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/msg.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/label.h"

static const char *const msg_error_names[] = {
    [HEARSAY_CODE_MALFORMED] = "MALFORMED",
    [HEARSAY_CODE_UNSUPPORTED_VERSION] = "UNSUPPORTED_VERSION",
    [HEARSAY_CODE_UNSUPPORTED] = "UNSUPPORTED",
    [HEARSAY_CODE_INVALID] = "INVALID",
    [HEARSAY_CODE_UNKNOWN_HOST] = "UNKNOWN_HOST",
    [HEARSAY_CODE_UNKNOWN_EPOCH] = "UNKNOWN_EPOCH",
    [HEARSAY_CODE_PROFILE_MISMATCH] = "PROFILE_MISMATCH",
    [HEARSAY_CODE_TOO_LARGE] = "TOO_LARGE",
    [HEARSAY_CODE_FILL_OUT_OF_RANGE] = "FILL_OUT_OF_RANGE",
    [HEARSAY_CODE_RATE_LIMITED] = "RATE_LIMITED",
    [HEARSAY_CODE_QUOTA] = "QUOTA",
    [HEARSAY_CODE_NOT_FOUND] = "NOT_FOUND",
    [HEARSAY_CODE_ALREADY_EXISTS] = "ALREADY_EXISTS",
    [HEARSAY_CODE_FORBIDDEN] = "FORBIDDEN",
    [HEARSAY_CODE_STORAGE] = "STORAGE",
    [HEARSAY_CODE_SHUTTING_DOWN] = "SHUTTING_DOWN",
    [HEARSAY_CODE_INTERNAL] = "INTERNAL",
    [HEARSAY_CODE_REMOVED] = "REMOVED",
};

const char *msg_error_name(enum hearsay_code code)
{
    size_t index = (size_t)code;

    if (index >= sizeof(msg_error_names) / sizeof(msg_error_names[0])) {
        return "UNKNOWN";
    }
    return msg_error_names[index] != NULL ? msg_error_names[index] : "UNKNOWN";
}

bool msg_change_has_content(const struct hearsay_change *change)
{
    return change->has_message + change->has_gone + change->has_rule == 1;
}

/*
 * Returns how many of the `length` bytes to keep when `most` bytes fit. No UTF-8 character is cut
 * in two.
 */
static size_t msg_whole_characters(const char *text, size_t length, size_t most)
{
    if (length <= most) {
        return length;
    }
    /* Goes back over continuation bytes (10xxxxxx) to the first byte of the character that would be
     * cut. */
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) {
        most--;
    }
    return most;
}

void msg_text_copy(char *out_text, size_t capacity, const char *text, size_t length)
{
    size_t kept = msg_whole_characters(text, length, capacity - 1);

    memcpy(out_text, text, kept);
    out_text[kept] = '\0';
}

const void *msg_keep_bytes(uint8_t **at, const void *data, size_t count)
{
    uint8_t *to = *at;

    if (data == NULL) {
        return NULL;
    }
    if (count > 0) {
        memcpy(to, data, count);
    }
    *at += count;
    return to;
}

/* Replaces each byte that is not UTF-8 by a question mark. */
static void msg_text_repair(char *text)
{
    size_t length = strlen(text);

    for (size_t at = 0; at < length;) {
        size_t bytes = label_character(text + at, length - at);

        if (bytes == 0) {
            text[at] = '?';
            bytes = 1;
        }
        at += bytes;
    }
}

void msg_error_set(struct msg_error *error, enum hearsay_code code, const char *field,
                   const char *format, ...)
{
    /*
     * Longer than the text that is kept: the byte behind a cut shows whether the cut is within a
     * character.
     */
    char sentence[LIMIT_ERROR_BYTES + 5];
    va_list arguments;

    va_start(arguments, format);
    if (vsnprintf(sentence, sizeof(sentence), format, arguments) < 0) {
        sentence[0] = '\0';
    }
    va_end(arguments);

    *error = (struct msg_error){.code = code};
    msg_text_copy(error->message, sizeof(error->message), sentence, strlen(sentence));
    msg_text_repair(error->message);
    if (field != NULL) {
        msg_text_copy(error->field, sizeof(error->field), field, strlen(field));
    }
}
