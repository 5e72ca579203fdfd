/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/topics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/web/form.h"
#include "client/web/view.h"

enum { TOPIC_PREFIX_BYTES = 6 /* of "topic:" */ };

/* Most wrong topics of a message, expected, which is what is promised (docs/web-guests.md). */
static const double wrong_max = 1.0 / 1000;

/* --- the list of the operator ----------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

__attribute__((format(printf, 2, 3))) static bool refuse(char *out_why, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(out_why, TOPICS_WHY_BYTES, format, values);
    va_end(values);
    return false;
}

/* Sets `normalised` from `text`. */
static bool topic_normalise(struct topic *topic, char *out_why)
{
    struct hearsay_context *context = NULL;
    struct hearsay_error error = {.sentence = "out of memory"};
    bool fits = false;

    if (hearsay_context_new(&context, &error) == HEARSAY_OK &&
        hearsay_context_add_topic(context, topic->text, &error) == HEARSAY_OK) {
        size_t count;
        const char *label = hearsay_context_labels(context, &count)[0] + TOPIC_PREFIX_BYTES;

        fits = (size_t)snprintf(topic->normalised, sizeof(topic->normalised), "%s", label) <
               sizeof(topic->normalised);
        (void)snprintf(error.sentence, sizeof(error.sentence), "`%.100s` is too long",
                       topic->text); /* one character may be a sentence */
    }
    hearsay_context_free(context);
    return fits || refuse(out_why, "%.200s", error.sentence);
}

/* Adds a topic of `bytes` bytes without blanks around it. */
static bool topics_add(struct topics *topics, const char *text, size_t bytes, char *out_why)
{
    struct topic topic = {.text = ""};

    if (bytes == 0) {
        return refuse(out_why, "a topic is empty; write topics with one comma between, such as "
                               "coffee, help");
    }
    if (bytes >= sizeof(topic.text)) {
        return refuse(out_why, "a topic may have 24 characters at most; shorten `%.48s...`", text);
    }
    memcpy(topic.text, text, bytes);
    if (form_count_characters(topic.text) > TOPICS_CHARACTERS_MAX) {
        return refuse(out_why, "a topic may have 24 characters at most; shorten `%s`", topic.text);
    }
    if (!topic_normalise(&topic, out_why)) {
        return false;
    }
    for (size_t i = 0; i < topics->count; i++) {
        if (strcmp(topics->all[i].normalised, topic.normalised) == 0) {
            return refuse(out_why, "`%s` is there twice; name each topic once", topic.text);
        }
    }
    if (topics->count == TOPICS_MAX) {
        return refuse(out_why, "there may be 20 topics at most; leave out `%s` and what follows",
                      topic.text);
    }
    topics->all[topics->count++] = topic;
    return true;
}

bool topics_read(const char *text, struct topics *out_topics, char *out_why)
{
    struct topics topics = {.count = 0};
    bool is_last = false;

    while (!is_last) {
        size_t bytes = strcspn(text, ",");
        size_t begin = 0;
        size_t end = bytes;

        while (begin < end && is_blank(text[begin])) {
            begin++;
        }
        while (end > begin && is_blank(text[end - 1])) {
            end--;
        }
        if (!topics_add(&topics, text + begin, end - begin, out_why)) {
            return false;
        }
        is_last = text[bytes] == '\0';
        text += bytes + 1;
    }
    *out_topics = topics;
    return true;
}

/* --- the topics of a message ------------------------------------------------------------------ */

struct bits {
    uint8_t bytes[HEARSAY_FILTER_BYTES_MAX];
};

/* Whether all of `few` are in `many`, and there is one. */
static bool bits_within(const struct bits *few, const struct bits *many)
{
    uint8_t any = 0;

    for (size_t i = 0; i < HEARSAY_FILTER_BYTES_MAX; i++) {
        any |= few->bytes[i];
        if ((few->bytes[i] & ~many->bytes[i]) != 0) {
            return false;
        }
    }
    return any != 0;
}

static unsigned bits_count(const struct bits *bits)
{
    unsigned count = 0;

    for (size_t i = 0; i < HEARSAY_FILTER_BYTES_MAX; i++) {
        count += (unsigned)__builtin_popcount(bits->bytes[i]);
    }
    return count;
}

/* What explains the bits of a message: labels that it may have. */
struct explained {
    struct bits message; /* its bits in the section of topics */
    size_t section;      /* bits of that section */
    struct bits once;    /* bits of at least one of these labels */
    struct bits twice;   /* of at least two */
};

/* Counts labels whose bits the message has, all of them. */
static bool explain_labels(struct explained *explained, const struct bits *labels)
{
    if (!bits_within(labels, &explained->message)) {
        return false;
    }
    for (size_t i = 0; i < HEARSAY_FILTER_BYTES_MAX; i++) {
        explained->twice.bytes[i] |= explained->once.bytes[i] & labels->bytes[i];
        explained->once.bytes[i] |= labels->bytes[i];
    }
    return true;
}

/* The section of a profile that takes topics. */
struct section {
    size_t first_bit;
    size_t bits;   /* 0: no section takes topics */
    size_t of_all; /* bits of the profile */
};

/*
 * Finds the section in the text of a profile, such as v2:512/4 or
 * v2:wifi=362/2,topic=96/2,any=54/4: that of topics, else the one for what has no section of its
 * own.
 */
static struct section find_section(const char *profile)
{
    struct section section = {.bits = 0};
    bool is_own = false;
    const char *at = strchr(profile, ':');

    while (at != NULL) {
        const char *name = at + 1;
        size_t length = strcspn(name, "="); /* a joint section has a comma in its name */
        bool has_name = name[length] == '=';
        char *end;
        size_t bits = strtoul(has_name ? name + length + 1 : name, &end, 10);
        bool is_topic = length == 5 && memcmp(name, "topic", 5) == 0;

        if (!has_name || is_topic || (!is_own && length == 3 && memcmp(name, "any", 3) == 0)) {
            section.first_bit = section.of_all;
            section.bits = bits;
            is_own = is_topic;
        }
        section.of_all += bits;
        at = strchr(end, ',');
    }
    if (section.of_all > 8 * (size_t)HEARSAY_FILTER_BYTES_MAX) {
        section.bits = 0;
    }
    return section;
}

/* Sets the bits of a filter in a section. */
static void take_section(const struct section *section, const uint8_t *filter,
                         struct bits *out_bits)
{
    memset(out_bits, 0, sizeof(*out_bits));
    for (size_t bit = section->first_bit; bit < section->first_bit + section->bits; bit++) {
        out_bits->bytes[bit / 8] |= (uint8_t)(filter[bit / 8] & 1U << bit % 8);
    }
}

/* What the labels of a place and its topics set, in the section of topics. */
struct known {
    bool is_made;
    struct bits place;
    struct bits topics[TOPICS_MAX];
};

struct topics_finder {
    const struct topics *topics;
    const struct hearsay_host *host;
    const char *place;
    struct section section;
    struct hearsay_context *context; /* owned, during a call */
    struct known known[2];           /* without the key of the epoch, and with it */
};

/* Sets the bits that the labels of the context set, and empties it. None if they cannot be
 * encoded. */
static void encode_topic(struct topics_finder *finder, bool is_keyed, struct bits *out_bits)
{
    struct hearsay_filter filter = {.bits = 0};
    struct hearsay_keys keys = {.epoch_key = finder->host->epoch.key};
    struct hearsay_encode what = {.host = finder->host, .keys = is_keyed ? &keys : NULL};

    what.labels = hearsay_context_labels(finder->context, &what.label_count);
    if (what.label_count == 0 || hearsay_encode(&what, &filter, NULL) != HEARSAY_OK) {
        memset(filter.bytes, 0, sizeof(filter.bytes));
    }
    take_section(&finder->section, filter.bytes, out_bits);
    hearsay_context_clear(finder->context);
}

static void add_place(struct hearsay_context *context, const char *place)
{
    char label[VIEW_PLACE_BYTES];

    while (*place != '\0') {
        size_t bytes = strcspn(place, "\n");

        if (bytes > 0 && bytes < sizeof(label)) {
            memcpy(label, place, bytes);
            label[bytes] = '\0';
            (void)hearsay_context_add_label(context, label, NULL);
        }
        place += bytes + (place[bytes] == '\n' ? 1 : 0);
    }
}

static const struct known *known_of(struct topics_finder *finder, bool is_keyed)
{
    struct known *known = &finder->known[is_keyed];

    if (!known->is_made) {
        add_place(finder->context, finder->place);
        encode_topic(finder, is_keyed, &known->place);
        for (size_t i = 0; i < finder->topics->count; i++) {
            (void)hearsay_context_add_topic(finder->context, finder->topics->all[i].normalised,
                                            NULL);
            encode_topic(finder, is_keyed, &known->topics[i]);
        }
        known->is_made = true;
    }
    return known;
}

/*
 * Whether the topics that were found can be trusted. They can if they explain all bits of the
 * message, together with the place and the hour. Bits that are left belong to a label that is not
 * known here, and bits of that label may look like a topic. So with such bits, topics are trusted
 * only if few bits of the section are set.
 */
static bool is_believed(const struct explained *explained, const struct bits *topics, size_t count)
{
    double share = (double)bits_count(&explained->message) / (double)explained->section;
    double wrong = 0;

    if (memcmp(&explained->once, &explained->message, sizeof(explained->once)) == 0) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        double chance = 1;

        for (unsigned bits = bits_count(&topics[i]); bits > 0; bits--) {
            chance *= share;
        }
        wrong += chance;
    }
    return wrong <= wrong_max;
}

/* Whether a topic alone explains a bit. Else it may be there only because others cover its bits. */
static bool is_needed(const struct explained *explained, const struct bits *topic)
{
    return !bits_within(topic, &explained->twice);
}

static uint32_t choose_topic(struct topics_finder *finder, const struct hearsay_result *message)
{
    const struct known *known = known_of(finder, message->epoch != 0);
    struct explained explained = {.section = finder->section.bits};
    struct bits now;
    uint32_t found = 0;

    take_section(&finder->section, message->filter.data, &explained.message);
    (void)explain_labels(&explained, &known->place);
    (void)hearsay_context_add_time(finder->context, message->deposited_ms, NULL);
    encode_topic(finder, message->epoch != 0, &now);
    (void)explain_labels(&explained, &now);
    for (size_t i = 0; i < finder->topics->count; i++) {
        found |= explain_labels(&explained, &known->topics[i]) ? 1U << i : 0;
    }
    if (!is_believed(&explained, known->topics, finder->topics->count)) {
        return 0;
    }
    for (size_t i = 0; i < finder->topics->count; i++) {
        found &= is_needed(&explained, &known->topics[i]) ? UINT32_MAX : ~(1U << i);
    }
    return found;
}

uint32_t topics_find(struct topics_finder *finder, const struct hearsay_result *message)
{
    const struct hearsay_epoch *epoch = finder != NULL ? &finder->host->epoch : NULL;
    uint32_t found = 0;

    if (finder == NULL || message->filter.count != (finder->section.of_all + 7) / 8 ||
        (message->epoch != 0 && (message->epoch != epoch->number || !epoch->has_key))) {
        return 0;
    }
    if (hearsay_context_new(&finder->context, NULL) == HEARSAY_OK) {
        found = choose_topic(finder, message);
    }
    hearsay_context_free(finder->context);
    finder->context = NULL;
    return found;
}

struct topics_finder *topics_finder_new(const struct topics *topics,
                                        const struct hearsay_host *host, const char *place)
{
    struct topics_finder *finder = topics->count > 0 ? calloc(1, sizeof(*finder)) : NULL;

    if (finder == NULL) {
        return NULL;
    }
    finder->topics = topics;
    finder->host = host;
    finder->place = place;
    finder->section = find_section(host->profile);
    if (finder->section.bits == 0) {
        free(finder);
        finder = NULL;
    }
    return finder;
}
