/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LANG_KEY_BYTES = 64,
    LANG_RANGES_MAX = 32, /* of an Accept-Language that are read */
    LANG_WEIGHT_ONE = 1000
};

size_t lang_count(void)
{
    return lang_table_count;
}

const struct lang *lang_at(size_t index)
{
    return &lang_table[index];
}

static const struct lang *lang_find_bytes(const char *tag, size_t bytes)
{
    for (size_t i = 0; i < lang_table_count; i++) {
        if (strlen(lang_table[i].tag) == bytes && strncasecmp(lang_table[i].tag, tag, bytes) == 0) {
            return &lang_table[i];
        }
    }
    return NULL;
}

const struct lang *lang_find(const char *tag)
{
    return lang_find_bytes(tag, strlen(tag));
}

const char *lang_tag(const struct lang *lang)
{
    return lang->tag;
}

const char *lang_name(const struct lang *lang)
{
    return lang->name;
}

bool lang_is_right_to_left(const struct lang *lang)
{
    return lang->is_right_to_left;
}

/* --- Accept-Language -------------------------------------------------------------------------- */

/* Reads "0.8" as 800. What is no weight counts as 0. */
static unsigned weight_read(const char *text, size_t bytes)
{
    unsigned weight = 0;
    unsigned unit = LANG_WEIGHT_ONE;

    if (bytes == 0 || bytes > 5 || (text[0] != '0' && text[0] != '1')) {
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (i == 1) {
            if (text[i] != '.') {
                return 0;
            }
            continue;
        }
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        weight += (unsigned)(text[i] - '0') * unit;
        unit /= 10;
    }
    return weight > LANG_WEIGHT_ONE ? 0 : weight;
}

/* Reads one range such as "de-AT;q=0.8", without spaces around. */
static const struct lang *range_read(const char *range, size_t bytes, unsigned *out_weight)
{
    size_t tag_bytes = strcspn(range, "-;, \t");
    const char *parameter = memchr(range, ';', bytes);

    *out_weight = LANG_WEIGHT_ONE;
    if (tag_bytes > bytes) {
        tag_bytes = bytes;
    }
    if (parameter != NULL) {
        parameter++;
        parameter += strspn(parameter, " \t");
        if (strncasecmp(parameter, "q=", 2) == 0) {
            size_t value_bytes = strcspn(parameter + 2, "; ,\t");

            *out_weight = weight_read(parameter + 2, value_bytes);
        }
    }
    if (tag_bytes == 1 && range[0] == '*') {
        return &lang_table[0];
    }
    return lang_find_bytes(range, tag_bytes);
}

const struct lang *lang_choose(const char *accept_language)
{
    const struct lang *best = &lang_table[0];
    const char *at = accept_language == NULL ? "" : accept_language;
    unsigned best_weight = 0;

    for (size_t i = 0; i < LANG_RANGES_MAX && *at != '\0'; i++) {
        const struct lang *lang;
        unsigned weight;
        size_t bytes;

        at += strspn(at, " \t,");
        bytes = strcspn(at, ",");
        lang = range_read(at, bytes, &weight);
        if (lang != NULL && weight > best_weight) {
            best = lang;
            best_weight = weight;
        }
        at += bytes;
    }
    return best;
}

/* --- texts ------------------------------------------------------------------------------------ */

static int entry_compare(const void *key, const void *entry)
{
    const struct lang_entry *lang_entry = entry;

    return strcmp(key, lang_entry->key);
}

static const char *lang_look_up(const struct lang *lang, const char *key)
{
    const struct lang_entry *entry =
        bsearch(key, lang->entries, lang->count, sizeof(*lang->entries), entry_compare);

    return entry == NULL ? NULL : entry->text;
}

bool lang_has(const struct lang *lang, const char *key)
{
    return lang_look_up(lang, key) != NULL;
}

const char *lang_text(const struct lang *lang, const char *key)
{
    const char *text = lang_look_up(lang, key);

    return text == NULL ? key : text;
}

/* Writes a text. The texts `before` and `behind` are around the value, wherever it stands. */
static void lang_write_text(struct html *html, const char *text, const char *value,
                            const char *before, const char *behind)
{
    static const char place[] = "{0}";
    const char *at = NULL;

    while ((at = strstr(text, place)) != NULL) {
        html_text(html, text, (size_t)(at - text));
        html_raw(html, before);
        html_string(html, value == NULL ? "" : value);
        html_raw(html, behind);
        text = at + strlen(place);
    }
    html_string(html, text);
}

void lang_write(struct html *html, const struct lang *lang, const char *key, const char *value)
{
    lang_write_text(html, lang_text(lang, key), value, "<bdi>", "</bdi>");
}

void lang_write_between(struct html *html, const struct lang *lang, const char *before,
                        const char *key, const char *after)
{
    html_raw(html, before);
    lang_write(html, lang, key, NULL);
    html_raw(html, after);
}

void lang_write_element(struct html *html, const struct lang *lang, const char *element,
                        const char *class_name, const char *key)
{
    html_raw(html, "<");
    html_raw(html, element);
    if (class_name != NULL) {
        html_attribute(html, "class", class_name);
    }
    lang_write_between(html, lang, ">", key, "</");
    html_raw(html, element);
    html_raw(html, ">\n");
}

/* --- numbers and times ------------------------------------------------------------------------ */

static const char *category_of_arabic(unsigned long long number)
{
    unsigned hundreds = (unsigned)(number % 100);

    if (number <= 2) {
        static const char *const small[] = {"zero", "one", "two"};

        return small[number];
    }
    if (hundreds >= 3 && hundreds <= 10) {
        return "few";
    }
    return hundreds >= 11 ? "many" : "other";
}

const char *lang_category(const struct lang *lang, unsigned long long number)
{
    if (strcmp(lang->tag, "ar") == 0) {
        return category_of_arabic(number);
    }
    if (strcmp(lang->tag, "fr") == 0 && number == 0) {
        return "one"; /* CLDR has "many", too, for whole millions, which no page says */
    }
    return number == 1 ? "one" : "other";
}

void lang_number(const struct lang *lang, uint64_t number, char *out_text)
{
    const char *frame = lang_text(lang, "number.thousand"); /* {0}, what is between, {1} */
    uint64_t unit = 1;

    while (number / unit >= 1000) {
        unit *= 1000;
    }
    int count = snprintf(out_text, LANG_NUMBER_BYTES, "%u", (unsigned)(number / unit));
    for (unit /= 1000; unit > 0; unit /= 1000) {
        count +=
            snprintf(out_text + count, (size_t)(LANG_NUMBER_BYTES - count), "%.*s%03u",
                     (int)strcspn(frame + 3, "{"), frame + 3, (unsigned)(number / unit % 1000));
    }
}

void lang_write_count(struct html *html, const struct lang *lang, const char *key, uint64_t number)
{
    char whole_key[LANG_KEY_BYTES];
    char digits[24];

    (void)snprintf(whole_key, sizeof(whole_key), "%s.%s", key, lang_category(lang, number));
    (void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
    lang_write_text(html, lang_text(lang, whole_key), digits, "", "");
}

enum { MINUTE_S = 60, HOUR_S = 60 * MINUTE_S, DAY_S = 24 * HOUR_S };

/* A time in the unit that people say it in. */
struct lang_span {
    bool is_alone;    /* not behind "in" and such words */
    uint64_t minutes; /* one of the three is not 0 */
    uint64_t hours;
    uint64_t days;
};

/* The same, of at least a minute, in whole units. */
static struct lang_span span_since(uint64_t seconds)
{
    if (seconds < HOUR_S) {
        return (struct lang_span){.minutes = seconds / MINUTE_S};
    }
    if (seconds < DAY_S) {
        return (struct lang_span){.hours = seconds / HOUR_S};
    }
    return (struct lang_span){.days = seconds / DAY_S};
}

/* The same, to the nearest unit; never 0. */
static struct lang_span span_until(uint64_t seconds)
{
    if (seconds < MINUTE_S) {
        return (struct lang_span){.minutes = 1};
    }
    if (seconds < HOUR_S - MINUTE_S / 2) {
        return (struct lang_span){.minutes = (seconds + MINUTE_S / 2) / MINUTE_S};
    }
    if (seconds < 2 * (uint64_t)DAY_S - HOUR_S / 2) {
        return (struct lang_span){.hours = (seconds + HOUR_S / 2) / HOUR_S};
    }
    return (struct lang_span){.days = seconds / DAY_S + (seconds % DAY_S >= DAY_S / 2)};
}

static void span_write(struct html *html, const struct lang *lang, struct lang_span span)
{
    char key[LANG_KEY_BYTES];
    uint64_t number = span.minutes + span.hours + span.days;

    (void)snprintf(key, sizeof(key), "%s.%s", span.is_alone ? "lasts" : "span",
                   span.minutes > 0 ? "minutes"
                   : span.hours > 0 ? "hours"
                                    : "days");
    lang_write_count(html, lang, key, number);
}

void lang_write_lasts(struct html *html, const struct lang *lang, uint64_t seconds)
{
    struct lang_span span = span_until(seconds);

    span.is_alone = true;
    span_write(html, lang, span);
}

/* The parts of a text before and behind its {0}. */
static const char *text_behind(const char *text, size_t *out_before)
{
    const char *place = strstr(text, "{0}");

    *out_before = place == NULL ? strlen(text) : (size_t)(place - text);
    return place == NULL ? "" : place + 3;
}

/* Writes the text of a key, in which a span replaces {0}, behind "about" where it is no more. */
static void lang_write_with_span(struct html *html, const struct lang *lang, const char *key,
                                 struct lang_span span, bool is_about)
{
    const char *text = lang_text(lang, key);
    size_t before;
    const char *behind = text_behind(text, &before);

    html_text(html, text, before);
    if (is_about) {
        html_string(html, lang_text(lang, "time.about"));
        html_string(html, " ");
    }
    span_write(html, lang, span);
    html_string(html, behind);
}

void lang_write_ago(struct html *html, const struct lang *lang, uint64_t seconds, bool is_about)
{
    if (seconds < MINUTE_S) {
        lang_write(html, lang, "ago.now", NULL);
    } else {
        lang_write_with_span(html, lang, "ago", span_since(seconds), is_about);
    }
}

void lang_write_gone(struct html *html, const struct lang *lang, uint64_t seconds, bool is_about)
{
    lang_write_with_span(html, lang, "item.gone", span_until(seconds), is_about);
}

void lang_write_until(struct html *html, const struct lang *lang, uint64_t seconds, bool is_about)
{
    lang_write_with_span(html, lang, "until", span_until(seconds), is_about);
}

void lang_write_with_until(struct html *html, const struct lang *lang, const char *key,
                           uint64_t seconds, bool is_about)
{
    const char *text = lang_text(lang, key);
    size_t before;
    const char *behind = text_behind(text, &before);

    html_text(html, text, before);
    lang_write_until(html, lang, seconds, is_about);
    html_string(html, behind);
}

void lang_write_with_lasts(struct html *html, const struct lang *lang, const char *key,
                           uint64_t seconds)
{
    struct lang_span span = span_until(seconds);

    span.is_alone = true;
    lang_write_with_span(html, lang, key, span, false);
}
