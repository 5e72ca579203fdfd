/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/here.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core/base/err.h"
#include "core/base/label_form.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void here_trim(const char **begin, const char **end)
{
    while (*begin < *end && is_blank(**begin)) {
        (*begin)++;
    }
    while (*begin < *end && is_blank((*end)[-1])) {
        (*end)--;
    }
}

static bool has_label(const struct here *here, const char *text, size_t length)
{
    for (size_t i = 0; i < here->count; i++) {
        if (here->labels[i].length == length && memcmp(here->labels[i].text, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static int here_refuse(char *out_reason, unsigned line, const char *why)
{
    (void)snprintf(out_reason, HERE_REASON_BYTES, "line %u: %s", line, why);
    return HERE_REFUSED;
}

static int add_line(struct here *here, const char *begin, const char *end, unsigned line,
                    size_t frame_bytes, char *out_reason)
{
    char why[LABEL_FORM_SENTENCE_BYTES];

    here_trim(&begin, &end);
    size_t length = (size_t)(end - begin);
    if (length == 0 || *begin == '#') {
        return 0;
    }
    if (label_form_check(begin, length, why) != 0) {
        return here_refuse(out_reason, line, why);
    }
    if (has_label(here, begin, length)) {
        here->lines_read++;
        return 0;
    }
    if (here->count == LIMIT_LABELS) {
        (void)snprintf(out_reason, HERE_REASON_BYTES, "line %u: there may be at most %d labels",
                       line, LIMIT_LABELS);
        return HERE_REFUSED;
    }
    if (here_frame_bytes(here) + length + HERE_LABEL_FRAME_BYTES > frame_bytes) {
        (void)snprintf(out_reason, HERE_REASON_BYTES,
                       "line %u: the labels take over %zu bytes, for which a frame has room: give "
                       "fewer, or raise `frame`",
                       line, frame_bytes);
        return HERE_REFUSED;
    }
    memcpy(here->end, begin, length);
    here->labels[here->count++] = (struct hearsay_text){here->end, length};
    here->end += length;
    here->lines_read++;
    return 0;
}

void here_leave_out(struct here_left_out *left_out, unsigned line)
{
    size_t kept = left_out->count < HERE_LINES_NAMED ? left_out->count : HERE_LINES_NAMED;

    left_out->count++;
    for (size_t i = 0; i < kept; i++) {
        unsigned other = left_out->lines[i];

        if (line < other) {
            left_out->lines[i] = line;
            line = other;
        }
    }
    if (kept < HERE_LINES_NAMED) {
        left_out->lines[kept] = line;
    }
}

void here_name_left_out(const struct here_left_out *left_out, char *reason, size_t reason_bytes)
{
    size_t used = strlen(reason);

    if (left_out->count == 0) {
        return;
    }
    (void)snprintf(reason + used, reason_bytes - used, "; lines left out: %zu", left_out->count);
    for (size_t i = 0; left_out->count > 1 && i < left_out->count && i < HERE_LINES_NAMED; i++) {
        used = strlen(reason);
        (void)snprintf(reason + used, reason_bytes - used, "%s%u", i == 0 ? " (" : ", ",
                       left_out->lines[i]);
    }
    used = strlen(reason);
    (void)snprintf(reason + used, reason_bytes - used, "%s",
                   left_out->count > HERE_LINES_NAMED ? ", ...)"
                   : left_out->count > 1              ? ")"
                                                      : "");
}

/* Leaves a wrong line out: out_reason is about the first one. */
static void add_text(struct here *here, const struct hearsay_text *from, size_t frame_bytes,
                     char *out_reason)
{
    char reason[HERE_REASON_BYTES];
    const char *text = from->text;

    if (from->length == 0) {
        return; /* `text` may be NULL, and C allows no arithmetic with NULL */
    }
    const char *end = text + from->length;
    for (unsigned line = 1; text < end; line++) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        line_end = line_end != NULL ? line_end : end;
        if (add_line(here, text, line_end, line, frame_bytes, reason) != 0) {
            if (here->left_out.count == 0) {
                (void)snprintf(out_reason, HERE_REASON_BYTES, "%s", reason);
            }
            here_leave_out(&here->left_out, line);
        }
        text = line_end < end ? line_end + 1 : end;
    }
}

int here_new(const struct alloc *alloc, const struct hearsay_text texts[2], size_t frame_bytes,
             struct here **out_here, char *out_reason)
{
    if (texts[1].length > HERE_FILE_BYTES_MAX) {
        (void)snprintf(out_reason, HERE_REASON_BYTES, "it is too large; at most %d bytes are read",
                       HERE_FILE_BYTES_MAX);
        return HERE_REFUSED;
    }
    size_t bytes = sizeof(struct here) + texts[0].length + texts[1].length;
    struct here *here = alloc_zeroed(alloc, 1, bytes);
    if (here == NULL) {
        return -ERR_NOMEM;
    }
    here->alloc = alloc;
    here->bytes = bytes;
    here->end = here->text;
    add_text(here, &texts[0], frame_bytes, out_reason);
    bool is_wrong = here->left_out.count > 0; /* the configuration's own labels are all right */
    here->lines_read = 0;
    add_text(here, &texts[1], frame_bytes, out_reason);
    here_name_left_out(&here->left_out, out_reason, HERE_REASON_BYTES);
    if (is_wrong || (here->left_out.count > 0 && here->lines_read == 0)) {
        here_free(here);
        return HERE_REFUSED;
    }
    *out_here = here;
    return 0;
}

void here_free(struct here *here)
{
    if (here != NULL) {
        alloc_release(here->alloc, here);
    }
}

size_t here_frame_bytes(const struct here *here)
{
    size_t bytes = 0;

    for (size_t i = 0; i < here->count; i++) {
        bytes += here->labels[i].length + HERE_LABEL_FRAME_BYTES;
    }
    return bytes;
}

bool here_is_wifi(const struct hearsay_text *label)
{
    static const char wifi[] = "wifi:";

    return label->length >= strlen(wifi) && memcmp(label->text, wifi, strlen(wifi)) == 0;
}

bool here_encode(struct encoder *encoder, const struct hearsay_text *label, const uint8_t *key)
{
    uint8_t keyed[LIMIT_KEY_BYTES];

    if (key == NULL) {
        return encoder_add(encoder, label->text, label->length) == 0;
    }
    (void)crypto_generichash(keyed, sizeof(keyed), (const uint8_t *)label->text, label->length, key,
                             LIMIT_KEY_BYTES); /* it fails for other sizes only */
    return encoder_add_keyed(encoder, label->text, label->length, keyed, sizeof(keyed)) == 0;
}

bool here_filter(const struct profile *profile, const struct hearsay_text *labels, size_t count,
                 const uint8_t *key, uint64_t out_filter[PROFILE_WORDS_MAX])
{
    struct encoder encoder;
    bool has_any = false;

    encoder_begin(&encoder, profile);
    for (size_t i = 0; i < count; i++) {
        has_any = (!here_is_wifi(&labels[i]) && here_encode(&encoder, &labels[i], key)) || has_any;
    }
    encoder_end(&encoder, out_filter);
    return has_any;
}

bool here_equal(const struct here *a, const struct here *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->labels[i].length != b->labels[i].length ||
            memcmp(a->labels[i].text, b->labels[i].text, a->labels[i].length) != 0) {
            return false;
        }
    }
    return true;
}
