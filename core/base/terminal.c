/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/terminal.h"

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

size_t terminal_decode(const char *bytes, size_t length, uint32_t *out_code)
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

bool terminal_is_unsafe(uint32_t code)
{
    return IN_RANGES(code, unsafe);
}

/* Shows a character as `before`, `digits` hexadecimal digits or as many as it has, and `after`. */
static void set_escape(struct terminal_glyph *glyph, const char *before, uint32_t code,
                       unsigned digits, const char *after)
{
    static const char hex[] = "0123456789abcdef";
    size_t count = strlen(before);

    memcpy(glyph->shown, before, count);
    while (code >> 4 * digits != 0) { /* 21 bits are six digits */
        digits++;
    }
    for (unsigned i = digits; i > 0; i--) {
        glyph->shown[count++] = hex[code >> 4 * (i - 1) & 15];
    }
    memcpy(glyph->shown + count, after, strlen(after));
    glyph->columns = count + strlen(after);
}

void terminal_next_glyph(const char *bytes, size_t length, struct terminal_glyph *out)
{
    uint32_t code = 0;
    memset(out, 0, sizeof(*out));
    out->bytes = terminal_decode(bytes, length, &code);
    if (out->bytes == 0) {
        out->bytes = 1;
        set_escape(out, "\\x", (unsigned char)bytes[0], 2, "");
    } else if (code == '\n' || code == '\t') {
        memcpy(out->shown, code == '\n' ? "\\n" : "\\t", 2);
        out->columns = 2;
    } else if (IN_RANGES(code, unsafe)) {
        set_escape(out, code < 0x80 ? "\\x" : "\\u{", code, code < 0x80 ? 2 : 1,
                   code < 0x80 ? "" : "}");
    } else {
        memcpy(out->shown, bytes, out->bytes);
        out->columns = IN_RANGES(code, combining) ? 0 : IN_RANGES(code, wide) ? 2 : 1;
    }
}
