/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/cli/term/out.h"
#include "core/base/label.h"
#include "core/base/terminal.h"

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
        size_t size = terminal_decode(text + at, length - at, &code);
        memmove(text + kept, text + at, size);
        kept += size;
        at += size > 0 ? size : 1;
    }
    text[kept] = '\0';
}

size_t text_columns(const char *bytes, size_t length, size_t limit)
{
    size_t columns = 0;
    struct terminal_glyph glyph;
    for (size_t at = 0; at < length && columns <= limit; at += glyph.bytes) {
        terminal_next_glyph(bytes + at, length - at, &glyph);
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
    struct terminal_glyph glyph;
    for (size_t at = 0; at < length; at += glyph.bytes) {
        terminal_next_glyph(bytes + at, length - at, &glyph);
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
    struct terminal_glyph glyph;
    for (size_t at = 0; at < length; at += glyph.bytes) {
        if (bytes[at] == '\n' || bytes[at] == '\t') {
            (void)fputc(bytes[at], stream);
            glyph.bytes = 1;
            continue;
        }
        terminal_next_glyph(bytes + at, length - at, &glyph);
        (void)fputs(glyph.shown, stream);
    }
}
