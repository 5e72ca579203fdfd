/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scanners print: all that comes out are well-formed labels; the same scan twice is the same
 * context, and so is one whose lines end the other way. What is refused names a line that is there.
 */
#include "client/cli/input/input.h"
#include "client/hearsay.h"
#include "core/base/label.h"
#include "tests/fuzz/fuzz.h"

enum { LEVELS_MAX = 12 }; /* labels of an access point */

static struct hearsay_context *new_context(void)
{
    struct hearsay_context *context = NULL;

    FUZZ_CHECK(hearsay_context_new(&context, NULL) == HEARSAY_OK);
    return context;
}

static void check_labels(const struct hearsay_context *context)
{
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    const char *reason;

    FUZZ_CHECK(labels != NULL && count <= HEARSAY_CONTEXT_LABELS_MAX);
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(label_check(labels[i], strlen(labels[i]), &reason) == 0);
        FUZZ_CHECK(strncmp(labels[i], "wifi:", 5) == 0);
    }
}

static void check_same(const struct hearsay_context *a, const struct hearsay_context *b)
{
    size_t a_count = 0;
    size_t b_count = 0;
    const char *const *a_labels = hearsay_context_labels(a, &a_count);
    const char *const *b_labels = hearsay_context_labels(b, &b_count);

    FUZZ_CHECK(a_count == b_count);
    for (size_t i = 0; i < a_count; i++) {
        FUZZ_CHECK(strcmp(a_labels[i], b_labels[i]) == 0);
    }
}

/* The same lines, ended by CR LF instead of LF. False where that is not the same text. */
static char *with_returns(const char *text, size_t size, size_t *out_size)
{
    char *out = malloc(2 * size + 1);

    FUZZ_CHECK(out != NULL);
    *out_size = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            out[(*out_size)++] = '\r';
        }
        out[(*out_size)++] = text[i];
    }
    return out;
}

/* "line 12 of the scan, ...": between the first line and the last. */
static void check_sentence(const char *sentence, const char *text, size_t size)
{
    unsigned long line = 0;
    size_t lines = 1;

    FUZZ_CHECK(sentence[0] != '\0');
    if (sscanf(sentence, "line %lu of the scan", &line) != 1) {
        return;
    }
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    FUZZ_CHECK(line >= 1 && line <= lines);
}

static void check_twin(const struct hearsay_context *context, const char *text, size_t size,
                       size_t sightings)
{
    struct hearsay_context *twin = new_context();
    size_t twin_sightings = 0;
    size_t twin_size = 0;
    char *twin_text;

    if (memchr(text, '\r', size) == NULL && 2 * size <= HEARSAY_SCAN_LINE_BYTES_MAX) {
        twin_text = with_returns(text, size, &twin_size);
        FUZZ_CHECK(hearsay_context_add_scan(twin, twin_text, twin_size, &twin_sightings, NULL) ==
                   HEARSAY_OK);
        FUZZ_CHECK(twin_sightings == sightings);
        check_same(context, twin);
        free(twin_text);
    }
    hearsay_context_free(twin);
}

static void read_json(const char *text, size_t size)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error = {.status = 0};
    size_t sightings = 0;
    struct hearsay_left_out left_out;

    if (scan_json_add(context, text, size, &sightings, &left_out, &error) == HEARSAY_OK) {
        FUZZ_CHECK(sightings <= HEARSAY_SCAN_SIGHTINGS_MAX);
        FUZZ_CHECK(sightings > 0 || left_out.unreadable == 0);
    } else {
        FUZZ_CHECK(error.status == HEARSAY_ERR_ARGUMENT && error.sentence[0] != '\0');
    }
    check_labels(context);
    hearsay_context_free(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hearsay_context *context = new_context();
    char *text = (char *)fuzz_copy(data, size);
    struct hearsay_error error = {.status = 0};
    size_t sightings = 0;

    if (hearsay_context_add_scan(context, text, size, &sightings, &error) == HEARSAY_OK) {
        struct hearsay_left_out left_out;
        size_t count = 0;
        size_t again = 0;

        FUZZ_CHECK(sightings <= HEARSAY_SCAN_SIGHTINGS_MAX);
        check_labels(context);
        (void)hearsay_context_labels(context, &count);
        hearsay_context_left_out(context, &left_out);
        FUZZ_CHECK((sightings == left_out.no_address) == (count == 0));
        FUZZ_CHECK(left_out.weaker + left_out.no_address + left_out.no_strength <= 2 * sightings);
        FUZZ_CHECK(count <= HEARSAY_SCAN_LABELS_MAX);
        FUZZ_CHECK(left_out.weaker == 0 || count >= HEARSAY_SCAN_STRONGEST ||
                   count > HEARSAY_SCAN_LABELS_MAX - LEVELS_MAX);
        check_twin(context, text, size, sightings);
        FUZZ_CHECK(hearsay_context_add_scan(context, text, size, &sightings, &error) == HEARSAY_OK);
        (void)hearsay_context_labels(context, &again);
        FUZZ_CHECK(count == again);
    } else {
        FUZZ_CHECK(error.status == HEARSAY_ERR_ARGUMENT);
        check_sentence(error.sentence, text, size);
        check_labels(context);
    }
    hearsay_context_free(context);
    if (scan_json_is(text, size)) {
        read_json(text, size);
    }
    free(text);
    return 0;
}
