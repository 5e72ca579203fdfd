/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/settings/value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/character.h"

/*
 * An error is appended to others only if at least this number of bytes is left in the buffer.
 * Otherwise the line `and more; mend these first` is appended, once.
 */
enum { SENTENCE_ROOM_BYTES = 1200 };

enum { MINUTE_S = 60, HOUR_S = 60 * MINUTE_S, DAY_S = 24 * HOUR_S, WEEK_S = 7 * DAY_S };

/*
 * Returns where the next sentence begins in `reason`: at 0, or behind the sentences collected so
 * far. SETTINGS_REASON_BYTES: there is no space left.
 */
static size_t begin_sentence(const struct settings_source *source)
{
    static const char more[] = "and more; mend these first";
    size_t used = source->collects ? strlen(source->reason) : 0;
    const char *last = used > 0 ? strrchr(source->reason, '\n') : NULL;

    if (used == 0) {
        return 0;
    }
    if (SETTINGS_REASON_BYTES - used >= SENTENCE_ROOM_BYTES) {
        source->reason[used] = '\n';
        return used + 1;
    }
    if (last == NULL || strcmp(last + 1, more) != 0) {
        (void)snprintf(source->reason + used, SETTINGS_REASON_BYTES - used, "\n%s", more);
    }
    return SETTINGS_REASON_BYTES;
}

int settings_refuse(const struct settings_source *source, const char *format, ...)
{
    size_t begin = begin_sentence(source);
    size_t used = begin;
    va_list arguments;

    if (begin == SETTINGS_REASON_BYTES) {
        return SETTINGS_REFUSED;
    }
    if (source->line > 0) {
        (void)snprintf(source->reason + used, SETTINGS_REASON_BYTES - used,
                       "%.400s:%u: ", source->name, source->line);
    } else {
        (void)snprintf(source->reason + used, SETTINGS_REASON_BYTES - used,
                       "%.400s: ", source->name);
    }
    used += strlen(source->reason + used);

    va_start(arguments, format);
    /* A sentence that is too long is cut. */
    (void)vsnprintf(source->reason + used, SETTINGS_REASON_BYTES - used, format, arguments);
    va_end(arguments);

    for (char *at = source->reason + begin; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = '?';
        }
    }
    return SETTINGS_REFUSED;
}

size_t settings_reason_first(char *reason)
{
    char *end = strchr(reason, '\n');
    size_t others = 0;

    for (const char *at = end; at != NULL; at = strchr(at + 1, '\n')) {
        others++;
    }
    if (end != NULL) {
        *end = '\0';
    }
    return others;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *form;
    unsigned decimals; /* kept: the value is in units of 10^-decimals */
} types[] = {
    [SETTINGS_TYPE_SIZE] =
        {"size", "a size in bytes, or with K, M or G (MB and MiB are the same), such as 64K", 0},
    [SETTINGS_TYPE_COUNT] = {"number", "a number, or one with k or M, such as 100 or 20k", 0},
    [SETTINGS_TYPE_DURATION] = {"duration",
                                "a duration with s, m, h, d or w, such as 90s, 24h or 7 days", 0},
    [SETTINGS_TYPE_MILLISECONDS] = {"duration",
                                    "a duration with ms, s, m, h, d or w, such as 50ms or 2s", 0},
    [SETTINGS_TYPE_PERCENT] = {"percentage",
                               "a percentage with at most 4 decimal places, such as 0.5%", 4},
    [SETTINGS_TYPE_DISTANCE] = {"distance",
                                "a distance with at most 6 decimal places, such as 0.85", 6},
    [SETTINGS_TYPE_CHOICE] = {"word", "one of its words", 0},
    [SETTINGS_TYPE_PATH] = {"path", "an absolute path, such as /var/lib/hearsay", 0},
    [SETTINGS_TYPE_USER] = {"user", "a user's name, such as hearsay", 0},
    [SETTINGS_TYPE_GROUP] = {"group", "a group's name, such as hearsay", 0},
    [SETTINGS_TYPE_NAME] = {"name",
                            "a name of letters a-z, digits and inner hyphens, such as campus", 0},
};

const char *settings_type_form(enum settings_type type)
{
    return types[type].form;
}

const char *settings_type_name(enum settings_type type)
{
    return types[type].name;
}

/* Returns value * factor + more, or UINT64_MAX if this does not fit in 64 bits. */
static uint64_t multiply_add(uint64_t value, uint64_t factor, uint64_t more)
{
    return value > (UINT64_MAX - more) / factor ? UINT64_MAX : value * factor + more;
}

/*
 * Reads a decimal number: digits, and optionally a point with 1 to `decimals` more digits.
 * *out_value is in units of 10^-decimals. Returns the rest of the text, or NULL if the text does
 * not begin with such a number.
 */
static const char *read_decimal(const char *text, unsigned decimals, uint64_t *out_value)
{
    uint64_t value = 0;
    unsigned left = decimals;

    if (!character_is_digit(*text)) {
        return NULL;
    }
    for (; character_is_digit(*text); text++) {
        value = multiply_add(value, 10, (uint64_t)(*text - '0'));
    }
    if (*text == '.') {
        text++;
        if (!character_is_digit(*text)) {
            return NULL;
        }
        for (; character_is_digit(*text); text++) {
            if (left == 0) {
                return NULL;
            }
            value = multiply_add(value, 10, (uint64_t)(*text - '0'));
            left--;
        }
    }
    for (; left > 0; left--) {
        value = multiply_add(value, 10, 0);
    }
    *out_value = value;
    return text;
}

/* A unit that may follow a number, and its factor. */
struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"KB", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"MB", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"GB", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {NULL, 0},
};

static const struct unit count_units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {NULL, 0}};

static const struct unit duration_units[] = {
    {"s", 1},          {"second", 1},        {"seconds", 1},        {"m", MINUTE_S},
    {"min", MINUTE_S}, {"minute", MINUTE_S}, {"minutes", MINUTE_S}, {"h", HOUR_S},
    {"hour", HOUR_S},  {"hours", HOUR_S},    {"d", DAY_S},          {"day", DAY_S},
    {"days", DAY_S},   {"w", WEEK_S},        {"week", WEEK_S},      {"weeks", WEEK_S},
    {NULL, 0},
};

static const struct unit percent_units[] = {{"%", 1}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static const struct unit *units_of(enum settings_type type)
{
    switch (type) {
    case SETTINGS_TYPE_SIZE:
        return size_units;
    case SETTINGS_TYPE_COUNT:
        return count_units;
    case SETTINGS_TYPE_DURATION:
        return duration_units;
    case SETTINGS_TYPE_PERCENT:
        return percent_units;
    default:
        return no_units;
    }
}

/* Returns the factor of the unit `suffix`; 0: the type has no such unit. */
static uint64_t suffix_factor(enum settings_type type, const char *suffix, uint64_t value)
{
    const char *name = suffix + strspn(suffix, " \t");

    if (type == SETTINGS_TYPE_MILLISECONDS) {
        return strcmp(name, "ms") == 0
                   ? 1
                   : 1000 * suffix_factor(SETTINGS_TYPE_DURATION, suffix, value);
    }
    if (type == SETTINGS_TYPE_DURATION && suffix[0] == '\0') {
        return value == 0 ? 1 : 0; /* only 0 needs no unit */
    }
    if (name > suffix && name[0] == '\0') {
        return 0;
    }
    for (const struct unit *unit = units_of(type); unit->name != NULL; unit++) {
        /*
         * Units of durations and large counts are case-sensitive: M after a duration could mean
         * months, m after a count could mean thousandths.
         */
        bool has_case =
            type == SETTINGS_TYPE_DURATION || (type == SETTINGS_TYPE_COUNT && unit->factor > 1000);
        if ((has_case ? strcmp(unit->name, name) : strcasecmp(unit->name, name)) == 0) {
            return unit->factor;
        }
    }
    return 0;
}

int settings_parse_number(enum settings_type type, const char *text, uint64_t *out_value)
{
    uint64_t value;
    const char *suffix = read_decimal(text, types[type].decimals, &value);

    if (suffix == NULL) {
        return SETTINGS_REFUSED;
    }
    uint64_t factor = suffix_factor(type, suffix, value);
    if (factor == 0) {
        return SETTINGS_REFUSED;
    }
    *out_value = multiply_add(value, factor, 0);
    return 0;
}

/*
 * Writes a number of units of 10^-decimals, without zeros at the end: with 4 decimals, 5000 is
 * written as 0.5.
 */
static void print_decimal(uint64_t value, unsigned decimals, const char *suffix, char *out)
{
    uint64_t scale = 1;

    for (unsigned i = 0; i < decimals; i++) {
        scale *= 10;
    }
    while (decimals > 0 && value % 10 == 0) {
        value /= 10;
        scale /= 10;
        decimals--;
    }
    if (decimals == 0) {
        (void)snprintf(out, SETTINGS_NUMBER_BYTES, "%" PRIu64 "%s", value, suffix);
    } else {
        (void)snprintf(out, SETTINGS_NUMBER_BYTES, "%" PRIu64 ".%0*" PRIu64 "%s", value / scale,
                       (int)decimals, value % scale, suffix);
    }
}

void settings_print_number(enum settings_type type, uint64_t value, char *out)
{
    static const struct {
        uint64_t bytes;
        const char *suffix;
    } sizes[] = {{UINT64_C(1) << 30, "G"}, {UINT64_C(1) << 20, "M"}, {UINT64_C(1) << 10, "K"}};
    static const struct {
        uint64_t seconds;
        uint64_t from; /* the unit is used from this value on: 24h, but 2d */
        const char *suffix;
    } durations[] = {{DAY_S, 2 * DAY_S, "d"}, {HOUR_S, HOUR_S, "h"}, {MINUTE_S, MINUTE_S, "m"}};

    if (type == SETTINGS_TYPE_MILLISECONDS) {
        if (value % 1000 != 0) {
            (void)snprintf(out, SETTINGS_NUMBER_BYTES, "%" PRIu64 "ms", value);
            return;
        }
        type = SETTINGS_TYPE_DURATION;
        value /= 1000;
    }
    if (type == SETTINGS_TYPE_SIZE) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            if (value > 0 && value % sizes[i].bytes == 0) {
                (void)snprintf(out, SETTINGS_NUMBER_BYTES, "%" PRIu64 "%s", value / sizes[i].bytes,
                               sizes[i].suffix);
                return;
            }
        }
    }
    if (type == SETTINGS_TYPE_DURATION) {
        for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
            if (value >= durations[i].from && value % durations[i].seconds == 0) {
                (void)snprintf(out, SETTINGS_NUMBER_BYTES, "%" PRIu64 "%s",
                               value / durations[i].seconds, durations[i].suffix);
                return;
            }
        }
        (void)snprintf(out, SETTINGS_NUMBER_BYTES, "%" PRIu64 "%s", value, value > 0 ? "s" : "");
        return;
    }
    print_decimal(value, types[type].decimals, type == SETTINGS_TYPE_PERCENT ? "%" : "", out);
}

/* --- paths and users -------------------------------------------------------------------------- */

int settings_parse_path(const struct settings_source *source, const char *key, const char *text,
                        char *out, size_t room)
{
    size_t length = strlen(text);

    if (text[0] != '/') {
        return settings_refuse(
            source, "`%s` must be an absolute path, one that begins with /; not `%.200s`", key,
            text);
    }
    if (length >= room) {
        return settings_refuse(source, "`%s` is a path of %zu bytes; at most %zu fit", key, length,
                               room - 1);
    }
    for (size_t i = 0; i < length; i++) {
        /*
         * A path with one of these characters could not be written to a file, because a line feed
         * ends the value, and blanks at its end do not count.
         */
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f ||
            (text[i] == ' ' && text[i + 1] == '\0')) {
            return settings_refuse(
                source, "`%s` may not contain control characters, or a blank at the end", key);
        }
    }
    memcpy(out, text, length + 1);
    return 0;
}

bool settings_is_name(const char *name, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t fits = 0;

    while (fits < length && name[fits] != '\0' && strchr(letters, name[fits]) != NULL) {
        fits++;
    }
    return fits == length && length > 0 && length < SETTINGS_NAME_BYTES && name[0] != '-' &&
           name[length - 1] != '-';
}

int settings_parse_name(const struct settings_source *source, enum settings_type type,
                        const char *key, const char *text, char *out, size_t room)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-.";
    size_t length = strlen(text);

    bool is_right = type == SETTINGS_TYPE_NAME
                        ? settings_is_name(text, length)
                        : text[0] != '-' && text[0] != '.' && !character_is_digit(text[0]) &&
                              strspn(text, letters) == length;

    if (length >= room || !is_right) {
        return settings_refuse(source, "`%s` must be %s, of at most %zu letters; not `%.200s`", key,
                               types[type].form, room - 1, text);
    }
    memcpy(out, text, length + 1);
    return 0;
}

bool settings_parse_port(const char *text, uint16_t *out_port)
{
    uint32_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9' && value <= UINT16_MAX; at++) {
        value = value * 10 + (uint32_t)(*at - '0');
    }
    if (at == text || *at != '\0' || value > UINT16_MAX) {
        return false;
    }
    *out_port = (uint16_t)value;
    return true;
}
