/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/out.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sodium.h>

enum { WIDTH_MIN = 40, WIDTH_MAX = 1000, WIDTH_DEFAULT = 80 };

static size_t terminal_width(int fd)
{
    struct winsize size;
    memset(&size, 0, sizeof(size));
    const char *columns = getenv("COLUMNS");
    uint64_t value = 0;
    if (columns != NULL && number_parse(columns, WIDTH_MIN, WIDTH_MAX, &value) == 0) {
        return (size_t)value;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN) {
        return size.ws_col;
    }
    return WIDTH_DEFAULT;
}

void out_init(struct out *out, FILE *stream)
{
    memset(out, 0, sizeof(*out));
    out->stream = stream;
    int fd = fileno(stream);
    if (fd < 0 || isatty(fd) == 0) {
        return;
    }
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    out->terminal = true;
    out->width = terminal_width(fd);
    out->colour =
        (no_color == NULL || no_color[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
}

void out_colour(const struct out *out, enum out_colour colour)
{
    static const char *const codes[] = {
        [OUT_PLAIN] = "\x1b[0m",  [OUT_BOLD] = "\x1b[1m",    [OUT_DIM] = "\x1b[2m",
        [OUT_GREEN] = "\x1b[32m", [OUT_YELLOW] = "\x1b[33m", [OUT_RED] = "\x1b[31m",
    };
    if (out->colour) {
        (void)fputs(codes[colour], out->stream);
    }
}

void out_text(const struct out *out, const char *text, size_t width)
{
    (void)text_print(out->stream, text, strlen(text), width);
}

/* Returns how many bytes of `text` to print on a line of `room` columns (0: no limit). A word that
 * is wider than the line is not cut. */
static size_t fold_length(const char *text, size_t room)
{
    size_t length = strlen(text);
    if (room == 0 || length <= room) {
        return length;
    }
    for (size_t end = room + 1; end > 1; end--) {
        if (text[end - 1] == ' ' || (text[end - 1] == ',' && end <= room)) {
            return end;
        }
    }
    return strcspn(text, " "); /* a word wider than the terminal */
}

void out_hex(const struct out *out, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(out->stream, "%02x", bytes[i]);
    }
}

void out_fold(const struct out *out, const char *text, size_t column)
{
    size_t room = out->width > column ? out->width - column : 0;
    for (;;) {
        size_t length = fold_length(text, room);
        size_t shown = length > 0 && text[length - 1] == ' ' ? length - 1 : length;
        (void)fwrite(text, 1, shown, out->stream);
        text += length;
        text += strspn(text, " ");
        if (*text == '\0') {
            return;
        }
        (void)fprintf(out->stream, "\n%*s", (int)column, "");
    }
}

void out_similarity(const struct out *out, uint32_t millionths, size_t cells)
{
    /*
     * The block characters from U+258F (an eighth of a cell is filled) to U+2588 (the whole cell is
     * filled). An empty cell is printed as a light shade.
     */
    static const char *const eighths[] = {"",
                                          "\xe2\x96\x8f",
                                          "\xe2\x96\x8e",
                                          "\xe2\x96\x8d",
                                          "\xe2\x96\x8c",
                                          "\xe2\x96\x8b",
                                          "\xe2\x96\x8a",
                                          "\xe2\x96\x89",
                                          "\xe2\x96\x88"};
    uint64_t filled =
        ((uint64_t)millionths * cells * 8 + HEARSAY_DISTANCE_ONE / 2) / HEARSAY_DISTANCE_ONE;
    out_colour(out, millionths >= 666667 ? OUT_GREEN : millionths >= 333334 ? OUT_YELLOW : OUT_RED);
    for (size_t i = 0; i < cells; i++) {
        uint64_t here = filled >= 8 ? 8 : filled;
        filled -= here;
        (void)fputs(here == 0 ? "\xe2\x96\x91" : eighths[here], out->stream);
    }
    out_colour(out, OUT_PLAIN);
    /* The similarity is rounded down, so that only a similarity of 1 prints as 1.00. */
    (void)fprintf(out->stream, " %" PRIu32 ".%02" PRIu32, millionths / HEARSAY_DISTANCE_ONE,
                  millionths % HEARSAY_DISTANCE_ONE / 10000);
}

void out_print_size(uint64_t bytes, char out[16])
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        (void)snprintf(out, 16, "%u B", (unsigned)bytes);
        return;
    }
    size_t unit = 0;
    uint64_t tenths = bytes / 100;
    while (tenths >= 10000) {
        tenths /= 1000;
        unit++;
    }
    (void)snprintf(out, 16, "%u.%u %s", (unsigned)(tenths / 10), (unsigned)(tenths % 10),
                   units[unit]);
}

void out_print_millionths(uint32_t millionths, char out[16])
{
    (void)snprintf(out, 16, "%" PRIu32 ".%06" PRIu32, millionths / HEARSAY_DISTANCE_ONE,
                   millionths % HEARSAY_DISTANCE_ONE);
    size_t end = strlen(out);
    while (out[end - 1] == '0') {
        end--;
    }
    out[out[end - 1] == '.' ? end - 1 : end] = '\0';
}

/*
 * Fractions in JSON are printed with six significant digits. Whole millionths from 0 to 1 have at
 * most six significant digits, so they lose no digit.
 */
#define JSON_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(6))

int out_json(const struct out *out, json_t *value)
{
    if (value == NULL) {
        return OUT_NOMEM;
    }
    char *text = json_dumps(value, JSON_FLAGS | (out->terminal ? JSON_ENSURE_ASCII : 0));
    json_decref(value);
    if (text == NULL) {
        return OUT_NOMEM;
    }
    (void)fputs(text, out->stream);
    (void)fputc('\n', out->stream);
    free(text);
    return 0;
}

char *out_json_text(json_t *value)
{
    return value != NULL ? json_dumps(value, JSON_FLAGS | JSON_ENSURE_ASCII) : NULL;
}

int out_flush(const struct out *out)
{
    errno = 0;
    if (fflush(out->stream) != 0 || ferror(out->stream) != 0) {
        return OUT_WRITE;
    }
    return 0;
}

bool out_has_no_reader(const struct out *out)
{
    int saved_errno = errno;
    struct pollfd output = {.fd = fileno(out->stream), .events = POLLOUT};
    /* Another call may have changed errno after the write failed. So poll checks, too, whether the
     * reader of the output has gone. */
    bool has_none =
        saved_errno == EPIPE || (poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0);
    errno = saved_errno;
    return has_none;
}

json_t *out_json_hex(const uint8_t *bytes, size_t count)
{
    char text[2 * HEARSAY_FILTER_BYTES_MAX + 1];
    if (count > HEARSAY_FILTER_BYTES_MAX) {
        return NULL;
    }
    (void)sodium_bin2hex(text, sizeof(text), bytes, count);
    return json_string(text);
}

json_t *out_json_base64(const uint8_t *bytes, size_t count)
{
    size_t size = sodium_base64_encoded_len(count, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(size);
    if (text == NULL) {
        return NULL;
    }
    (void)sodium_bin2base64(text, size, bytes, count, sodium_base64_VARIANT_ORIGINAL);
    json_t *value = json_string(text);
    free(text);
    return value;
}

json_t *out_json_time(int64_t ms)
{
    char text[WHEN_BYTES];
    when_print(ms, text);
    return json_string(text);
}

json_t *out_json_millionths(uint32_t millionths)
{
    return json_real((double)millionths / HEARSAY_DISTANCE_ONE);
}

const char *out_media_type(const struct hearsay_text *type)
{
    return type->text != NULL ? type->text : "text/plain";
}

bool out_is_text(const char *media_type, const uint8_t *payload, size_t count)
{
    return media_type != NULL && strncmp(media_type, "text/", 5) == 0 &&
           text_is_utf8((const char *)payload, count);
}

void out_json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

void out_json_append(json_t **array, json_t *value)
{
    if (json_array_append_new(*array, value) != 0) {
        json_decref(*array);
        *array = NULL;
    }
}

void out_json_payload(json_t **object, const char *media_type, const uint8_t *payload, size_t count)
{
    if (out_is_text(media_type, payload, count)) {
        out_json_set(object, "text", json_stringn(count > 0 ? (const char *)payload : "", count));
    } else {
        out_json_set(object, "payload_base64", out_json_base64(payload, count));
    }
}

json_t *out_json_notice(const struct hearsay_house_notice *notice)
{
    json_t *object = json_pack("{s:I, s:s, s:s*, s:s*, s:o}", "notice", (json_int_t)notice->number,
                               "text", notice->text.text, "lang", notice->lang.text, "place",
                               notice->place.text, "since", out_json_time(notice->since_ms));
    if (notice->until_ms != 0) {
        out_json_set(&object, "until", out_json_time(notice->until_ms));
    }
    return object;
}

json_t *out_json_result(const struct hearsay_result *result, bool typed)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o}", "id", out_json_hex(result->id.data, HEARSAY_ID_BYTES),
        "distance", out_json_millionths(result->distance_ppm), "intersection",
        (json_int_t)result->intersection_count, "union", (json_int_t)result->union_count,
        "deposited", out_json_time(result->deposited_ms), "expires",
        out_json_time(result->expires_ms));
    json_t *set_bits = json_array();
    for (uint32_t s = 0; s < result->set_bit_count; s++) {
        out_json_append(&set_bits, json_integer(result->set_bits[s]));
    }
    out_json_set(&object, "set_bits", set_bits);
    if (typed && (result->media_type.text != NULL || result->payload_omitted)) {
        out_json_set(
            &object, "type",
            json_string(result->media_type.text != NULL ? result->media_type.text : "text/plain"));
    }
    if (result->host.text != NULL) {
        out_json_set(&object, "host", json_string(result->host.text));
    }
    if (result->answer_count > 0) {
        out_json_set(&object, "answer_count", json_integer((json_int_t)result->answer_count));
    }
    if (result->payload_omitted) {
        out_json_set(&object, "payload_omitted", json_true());
    } else if (result->payload.data != NULL) {
        out_json_payload(&object, result->media_type.text, result->payload.data,
                         result->payload.count);
    }
    return object;
}

json_t *out_json_results(const struct hearsay_results *results, json_t *array)
{
    return json_pack("{s:o, s:I, s:b, s:b}", "results", array, "comparisons",
                     (json_int_t)results->comparisons, "exact", results->exact, "capped",
                     results->capped);
}

json_t *out_json_asked(const struct hearsay_results *results)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:o}", "asked", (json_int_t)results->peers_asked,
        "peers", (json_int_t)results->peers, "silent", (json_int_t)results->peers_silent,
        "other_profile", (json_int_t)results->peers_other, "skipped",
        (json_int_t)results->peers_skipped, "complete", results->complete, "bridge_away",
        results->bridge_away, "as_of", out_json_time(results->as_of_ms));
}
