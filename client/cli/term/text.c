/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/out.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/label.h"

struct range {
    uint32_t first;
    uint32_t last;
};

/*
 * Characters that are printed as escapes: C0 and C1 controls, DEL, characters that change the
 * direction of text, most invisible characters, line and paragraph separators, tags, private use
 * characters, and some code points that are no characters.
 */
static const struct range unsafe[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x061c, 0x061c},    {0x115f, 0x1160},
    {0x180e, 0x180e}, {0x200b, 0x200b},   {0x200e, 0x200f},   {0x2028, 0x202e},    {0x2060, 0x206f},
    {0x3164, 0x3164}, {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},    {0xffa0, 0xffa0},
    {0xfff0, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

/*
 * Characters that take no column: combining marks, joiners, variation selectors and skin tones of
 * emoji (Unicode 15, shortened).
 */
static const struct range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489},   {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x06d6, 0x06dc}, {0x0900, 0x0902},   {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x200c, 0x200d}, {0x20d0, 0x20ff},   {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff},
};

/*
 * Characters that take two columns: East Asian wide and fullwidth characters, pictographs (Unicode
 * 15, shortened).
 */
static const struct range wide[] = {
    {0x1100, 0x115e},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},
    {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6f},   {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f3fa},
    {0x1f400, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

static int compare_range(const void *key, const void *element)
{
    uint32_t code = *(const uint32_t *)key;
    const struct range *range = element;
    return code < range->first ? -1 : code > range->last ? 1 : 0;
}

#define IN_RANGES(code, ranges)                                                          \
    (bsearch(&(code), ranges, sizeof(ranges) / sizeof((ranges)[0]), sizeof((ranges)[0]), \
             compare_range) != NULL)

/*
 * Decodes the first code point of `length` bytes of UTF-8 (RFC 3629), length >= 1. Returns the
 * number of bytes of the code point, or 0 when the bytes do not start with a code point.
 */
static size_t text_decode(const char *bytes, size_t length, uint32_t *out_code)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t size = label_character(bytes, length);
    /* The first of two, three and four bytes holds the upper 5, 4 and 3 bits of the code point. */
    *out_code = size > 1 ? at[0] & (0x7fu >> size) : at[0];
    for (size_t i = 1; i < size; i++) {
        *out_code = *out_code << 6 | (at[i] & 0x3fu);
    }
    return size;
}

bool text_is_utf8(const char *bytes, size_t length)
{
    return length == 0 || (memchr(bytes, '\0', length) == NULL && label_is_utf8(bytes, length));
}

void text_drop_invalid(char *text)
{
    size_t length = strlen(text);
    size_t kept = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t size = text_decode(text + at, length - at, &code);
        memmove(text + kept, text + at, size);
        kept += size;
        at += size > 0 ? size : 1;
    }
    text[kept] = '\0';
}

/* One character as it is shown. */
struct glyph {
    char shown[16]; /* with a NUL behind */
    size_t bytes;   /* of the input */
    size_t columns;
};

static void set_columns(struct glyph *glyph, int written)
{
    glyph->columns = written > 0 ? (size_t)written : 0;
}

static void next_glyph(const char *bytes, size_t length, struct glyph *out)
{
    uint32_t code = 0;
    memset(out, 0, sizeof(*out));
    out->bytes = text_decode(bytes, length, &code);
    if (out->bytes == 0) {
        out->bytes = 1;
        set_columns(out,
                    snprintf(out->shown, sizeof(out->shown), "\\x%02x", (unsigned char)bytes[0]));
    } else if (code == '\n' || code == '\t') {
        set_columns(out, snprintf(out->shown, sizeof(out->shown), code == '\n' ? "\\n" : "\\t"));
    } else if (code < 0x80 && IN_RANGES(code, unsafe)) {
        set_columns(out, snprintf(out->shown, sizeof(out->shown), "\\x%02x", (unsigned)code));
    } else if (IN_RANGES(code, unsafe)) {
        set_columns(out, snprintf(out->shown, sizeof(out->shown), "\\u{%x}", (unsigned)code));
    } else {
        memcpy(out->shown, bytes, out->bytes);
        out->columns = IN_RANGES(code, combining) ? 0 : IN_RANGES(code, wide) ? 2 : 1;
    }
}

/* Counts the columns of the escaped form of the text. Stops counting just above `limit`. */
static size_t text_columns(const char *bytes, size_t length, size_t limit)
{
    size_t columns = 0;
    struct glyph glyph;
    for (size_t at = 0; at < length && columns <= limit; at += glyph.bytes) {
        next_glyph(bytes + at, length - at, &glyph);
        columns += glyph.columns;
    }
    return columns;
}

size_t text_print(FILE *stream, const char *bytes, size_t length, size_t width)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    bool cut = width > 0 && text_columns(bytes, length, width) > width;
    size_t room = width == 0 ? SIZE_MAX : cut ? width - 1 : width;
    size_t columns = 0;
    struct glyph glyph;
    for (size_t at = 0; at < length; at += glyph.bytes) {
        next_glyph(bytes + at, length - at, &glyph);
        if (glyph.columns > room - columns) {
            break;
        }
        (void)fputs(glyph.shown, stream);
        columns += glyph.columns;
    }
    if (cut) {
        (void)fputs(ellipsis, stream);
        columns++;
    }
    return columns;
}

void text_print_lines(FILE *stream, const char *bytes, size_t length)
{
    struct glyph glyph;
    for (size_t at = 0; at < length; at += glyph.bytes) {
        if (bytes[at] == '\n' || bytes[at] == '\t') {
            (void)fputc(bytes[at], stream);
            glyph.bytes = 1;
            continue;
        }
        next_glyph(bytes + at, length - at, &glyph);
        (void)fputs(glyph.shown, stream);
    }
}
