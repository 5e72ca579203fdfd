/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that import reads: however they come in, they are those of the text; a line that is taken
 * is a message that could be sent, and one that is written again in JSON's usual form is the same
 * message; one that is refused says why.
 */
#include <unistd.h>

#include "client/cli/input/record.h"
#include "client/cli/term/lines.h"
#include "core/base/label.h"
#include "tests/fuzz/fuzz.h"

static void check_record(const struct record *record)
{
    FUZZ_CHECK(record->has_filter != (record->context != NULL));
    FUZZ_CHECK(record->has_filter == (record->profile != NULL));
    FUZZ_CHECK(record->payload != NULL);
    FUZZ_CHECK(record->reach <= HEARSAY_DISTANCE_ONE);
    FUZZ_CHECK(record->epoch <= INT64_MAX);
    FUZZ_CHECK(!(record->ttl_s != 0 && record->has_expiry));
    FUZZ_CHECK(!(record->has_hash && record->no_withdrawal));
    if (record->has_filter) {
        FUZZ_CHECK(record->filter.byte_count >= 1 &&
                   record->filter.byte_count <= HEARSAY_FILTER_BYTES_MAX);
        FUZZ_CHECK(record->filter.bits == 8 * record->filter.byte_count);
    } else {
        size_t count = 0;
        const char *const *labels = hearsay_context_labels(record->context, &count);
        const char *reason;

        for (size_t i = 0; i < count; i++) {
            FUZZ_CHECK(label_check(labels[i], strlen(labels[i]), &reason) == 0);
        }
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_same(const struct record *a, const struct record *b)
{
    FUZZ_CHECK(a->payload_bytes == b->payload_bytes &&
               memcmp(a->payload, b->payload, a->payload_bytes) == 0);
    FUZZ_CHECK(same_text(a->host, b->host) && same_text(a->media_type, b->media_type));
    FUZZ_CHECK(same_text(a->profile, b->profile));
    FUZZ_CHECK(a->epoch == b->epoch && a->ttl_s == b->ttl_s && a->reach == b->reach);
    FUZZ_CHECK(a->has_expiry == b->has_expiry && a->expires_ms == b->expires_ms);
    FUZZ_CHECK(a->has_id == b->has_id && memcmp(a->id, b->id, sizeof(a->id)) == 0);
    FUZZ_CHECK(a->has_hash == b->has_hash && a->no_withdrawal == b->no_withdrawal);
    FUZZ_CHECK(memcmp(a->withdraw_hash, b->withdraw_hash, sizeof(a->withdraw_hash)) == 0);
    FUZZ_CHECK(a->has_filter == b->has_filter);
    FUZZ_CHECK(!a->has_filter ||
               memcmp(a->filter.bytes, b->filter.bytes, a->filter.byte_count) == 0);
    if (a->context != NULL) {
        size_t a_count = 0;
        size_t b_count = 0;
        const char *const *a_labels = hearsay_context_labels(a->context, &a_count);
        const char *const *b_labels = hearsay_context_labels(b->context, &b_count);

        FUZZ_CHECK(a_count == b_count);
        for (size_t i = 0; i < a_count; i++) {
            FUZZ_CHECK(strcmp(a_labels[i], b_labels[i]) == 0);
        }
    }
}

static void try_line(const char *line, size_t length)
{
    struct jsonline_error error = {.sentence = ""};
    struct record record;
    struct record again;

    const int rc = record_parse(line, length, &record, &error);
    if (rc == 0) {
        char *written = json_dumps(record.object, JSON_COMPACT | JSON_REAL_PRECISION(17));

        FUZZ_CHECK(written != NULL);
        check_record(&record);
        if (record_parse(written, strlen(written), &again, &error) != 0) {
            (void)fprintf(stderr, "%s\n%s\n", error.sentence, written);
            fuzz_fail(__FILE__, __LINE__, "what was written is taken");
        }
        check_same(&record, &again);
        record_deinit(&again);
        free(written);
    } else {
        FUZZ_CHECK(rc == JSONLINE_WRONG && error.sentence[0] != '\0');
    }
    record_deinit(&record);
}

/* The next line of the text, by the rule of lines.h. False: there is none. */
static bool next_line(struct fuzz_input *text, const char **out_line, size_t *out_length)
{
    const uint8_t *newline = text->left > 0 ? memchr(text->data, '\n', text->left) : NULL;
    size_t count = 0;

    if (text->left == 0) {
        return false;
    }
    *out_line = (const char *)text->data;
    *out_length = newline != NULL ? (size_t)(newline - text->data) : text->left;
    (void)fuzz_bytes(text, *out_length + 1, &count);
    if (*out_length > 0 && (*out_line)[*out_length - 1] == '\r') {
        (*out_length)--;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input text = {data, size};
    struct lines lines;
    const char *line;
    const char *expected;
    size_t length = 0;
    size_t expected_length = 0;
    uint64_t number = 0;
    int ends[2];
    int rc;

    if (size > 32 * 1024) { /* a pipe takes it without a reader */
        return 0;
    }
    FUZZ_CHECK(pipe(ends) == 0);
    FUZZ_CHECK(size == 0 || write(ends[1], data, size) == (ssize_t)size);
    (void)close(ends[1]);
    lines_init(&lines, ends[0]);
    while ((rc = lines_next(&lines, &line, &length)) != LINES_END) {
        if (rc == LINES_MORE) {
            FUZZ_CHECK(lines_read(&lines) == 0);
            continue;
        }
        FUZZ_CHECK(rc == 0 && next_line(&text, &expected, &expected_length));
        FUZZ_CHECK(lines.number == ++number);
        if (number == 1 && expected_length >= 3 && memcmp(expected, "\xEF\xBB\xBF", 3) == 0) {
            expected += 3; /* a byte order mark, as editors write it */
            expected_length -= 3;
        }
        FUZZ_CHECK(length == expected_length && memcmp(line, expected, length) == 0);
        try_line(line, length);
    }
    FUZZ_CHECK(!next_line(&text, &expected, &expected_length));
    lines_deinit(&lines);
    (void)close(ends[0]);
    return 0;
}
