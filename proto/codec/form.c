/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/inner.h"

#include <string.h>

static bool form_is_host(const char *text, size_t length)
{
    if (length == 0 || text[0] == '-' || text[length - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
            return false;
        }
    }
    return true;
}

bool codec_is_media_type(const char *text, size_t length)
{
    const char *slash = memchr(text, '/', length);

    if (length == 0 || length > LIMIT_MEDIA_TYPE_BYTES) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e) {
            return false;
        }
    }
    return slash != NULL && slash != text && slash != text + length - 1;
}

const struct map_form codec_form_host = {
    .holds = form_is_host,
    .form = "a host's name: a-z, 0-9 and -, with no - at the ends",
};

const struct map_form codec_form_media_type = {
    .holds = codec_is_media_type,
    .form = "a media type like text/plain: visible ASCII characters and spaces, with others before "
            "and behind the first /",
};

static bool form_is_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

const struct map_form codec_form_line = {
    .holds = form_is_line,
    .form = "a line of text: control characters are not allowed in it",
};

static bool form_is_language(const char *text, size_t length)
{
    size_t part = 0; /* bytes of the part so far */
    bool is_first = true;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (c == '-' && part > (is_first ? 1 : 0)) {
            part = 0;
            is_first = false;
        } else if ((is_letter || (is_digit && !is_first)) && part < 8) {
            part++;
        } else {
            return false;
        }
    }
    return part > (is_first ? 1 : 0);
}

const struct map_form codec_form_language = {
    .holds = form_is_language,
    .form = "the tag of a language, such as de or pt-BR",
};
