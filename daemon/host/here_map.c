/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/here_map.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/character.h"
#include "core/base/err.h"
#include "core/base/label.h"
#include "core/base/label_form.h"
#include "daemon/host/here.h"

enum { PREFIX_BITS_MAX = 128, PREFIX_TEXT_BYTES = 64 };

/* One line of the table. */
struct entry {
    struct here_address prefix; /* bits behind the first `length` are zero */
    uint8_t length;             /* in bits */
    uint16_t label_count;
    uint32_t line;
    uint32_t labels; /* offset in the text of the first label; each label ends with a line feed */
    uint32_t labels_bytes;    /* of all labels with their line feeds */
    struct hearsay_text name; /* of the place, in the text; empty: it has none */
    bool is_wrong;            /* only while the table is made */
};

/* What a name stands for: the labels of its first line. */
struct place {
    struct entry entry; /* a copy */
    size_t at;          /* of the entry itself, while the table is made */
};

struct here_map {
    const struct alloc *alloc;
    struct entry *entries; /* `count` of them, in the order of entry_compare */
    size_t count;
    struct place *places; /* `place_count` of them, by name; NULL: no line has a name */
    size_t place_count;
    char *text; /* the labels and names of all entries, one after the other */
    size_t text_bytes;
    struct here_left_out left_out;
    uint8_t lengths[2][PREFIX_BITS_MAX + 1]; /* whether IPv4, IPv6 prefixes of this length exist */
};

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool here_address_read(const uint8_t *bytes, size_t length, struct here_address *out_address)
{
    static const uint8_t unspecified[16];
    struct here_address address = {.family = length == 4 ? 4 : 6};

    if (length != 4 && length != sizeof(address.bytes)) {
        return false;
    }
    if (length > 4 && memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
        return here_address_read(bytes + sizeof(mapped_prefix), 4, out_address);
    }
    bool is_multicast = length == 4 ? bytes[0] >= 224 : bytes[0] == 0xff;
    if (is_multicast || memcmp(bytes, unspecified, length) == 0) {
        return false;
    }
    memcpy(address.bytes, bytes, length);
    *out_address = address;
    return true;
}

/* --- prefixes --------------------------------------------------------------------------------- */

static unsigned family_bits(uint8_t family)
{
    return family == 4 ? 32 : PREFIX_BITS_MAX;
}

/* Returns the address with all bits after the first `length` bits set to zero. */
static struct here_address prefix_of(const struct here_address *address, unsigned length)
{
    struct here_address prefix = *address;

    for (unsigned i = 0; i < sizeof(prefix.bytes); i++) {
        unsigned kept = length > i * CHAR_BIT ? length - i * CHAR_BIT : 0;

        unsigned mask = kept >= CHAR_BIT ? 0xff : 0xff00U >> kept & 0xff;

        prefix.bytes[i] = (uint8_t)(prefix.bytes[i] & mask);
    }
    return prefix;
}

/* Orders entries by family, length and bytes. So a binary search finds a prefix. */
static int prefix_compare(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;

    if (left->prefix.family != right->prefix.family) {
        return left->prefix.family < right->prefix.family ? -1 : 1;
    }
    if (left->length != right->length) {
        return left->length < right->length ? -1 : 1;
    }
    return memcmp(left->prefix.bytes, right->prefix.bytes, sizeof(left->prefix.bytes));
}

/* Of entries with the same prefix that of the earlier line comes first. */
static int entry_compare(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    int order = prefix_compare(a, b);

    return order != 0 ? order : (left->line > right->line) - (left->line < right->line);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What here_map_new works on. */
struct reading {
    struct here_map *map;
    size_t frame_bytes;
    unsigned line;
    char *reason; /* what is wrong with the line */
};

__attribute__((format(printf, 2, 3))) static int refuse_line(const struct reading *reading,
                                                             const char *format, ...)
{
    char why[HERE_MAP_REASON_BYTES - 32]; /* after "line 4294967295: " */
    va_list list;

    va_start(list, format);
    (void)vsnprintf(why, sizeof(why), format, list);
    va_end(list);
    (void)snprintf(reading->reason, HERE_MAP_REASON_BYTES, "line %u: %s", reading->line, why);
    return HERE_MAP_REFUSED;
}

/* Reads an address from a text that ends with NUL. */
static bool address_read(const char *text, struct here_address *out_address)
{
    *out_address = (struct here_address){.family = 4};
    if (inet_pton(AF_INET, text, out_address->bytes) == 1) {
        return true;
    }
    out_address->family = 6;
    return inet_pton(AF_INET6, text, out_address->bytes) == 1;
}

/* Reads the number of bits behind the slash. */
static bool length_read(const char *digits, unsigned most, unsigned *out_length)
{
    unsigned length = 0;

    if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits) || strlen(digits) > 3) {
        return false;
    }
    for (; *digits != '\0'; digits++) {
        length = length * 10 + (unsigned)(*digits - '0');
    }
    *out_length = length;
    return length <= most;
}

static int prefix_read(const struct reading *reading, const char *begin, const char *end,
                       struct entry *out_entry)
{
    char text[PREFIX_TEXT_BYTES];
    struct here_address address;

    if ((size_t)(end - begin) >= sizeof(text)) {
        return refuse_line(reading, "a line begins with an address or a prefix, such as "
                                    "10.1.7.0/24 or 2001:db8::/64");
    }
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = '\0';
    char *slash = strchr(text, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    if (!address_read(text, &address)) {
        return refuse_line(reading, "a line begins with an address or a prefix, such as "
                                    "10.1.7.0/24 or 2001:db8::/64");
    }
    unsigned length = family_bits(address.family);
    if (slash != NULL && !length_read(slash + 1, length, &length)) {
        return refuse_line(reading, "behind the slash stands a number from 0 to %u",
                           family_bits(address.family));
    }
    if (address.family == 6 && memcmp(address.bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
        return refuse_line(reading, "write this as an IPv4 address, such as 10.1.7.0/24");
    }
    out_entry->prefix = prefix_of(&address, length);
    out_entry->length = (uint8_t)length;
    if (memcmp(&out_entry->prefix, &address, sizeof(address)) != 0) {
        return refuse_line(reading, "bits behind the length of the prefix are set; write them as "
                                    "zero, as in 10.1.7.0/24");
    }
    return 0;
}

static const char *find_or_end(const char *begin, const char *end, char sought)
{
    const char *found = memchr(begin, sought, (size_t)(end - begin));

    return found != NULL ? found : end;
}

/* Appends the labels of a line, which commas separate, to map->text. */
static int labels_read(const struct reading *reading, const char *begin, const char *end,
                       struct entry *entry)
{
    struct here_map *map = reading->map;
    size_t frame_bytes = 0;

    entry->labels = (uint32_t)map->text_bytes;
    for (; begin <= end; begin++) {
        const char *comma = find_or_end(begin, end, ',');
        const char *last = comma;
        char why[LABEL_FORM_SENTENCE_BYTES];

        here_trim(&begin, &last);
        size_t length = (size_t)(last - begin);
        if (label_form_check(begin, length, why) != 0) {
            return refuse_line(reading, "%s", why);
        }
        if (entry->label_count == LIMIT_LABELS) {
            return refuse_line(reading, "there are more than %d labels", LIMIT_LABELS);
        }
        memcpy(map->text + map->text_bytes, begin, length);
        map->text[map->text_bytes + length] = '\n';
        map->text_bytes += length + 1;
        frame_bytes += length + HERE_LABEL_FRAME_BYTES;
        entry->label_count++;
        begin = comma;
    }
    entry->labels_bytes = (uint32_t)map->text_bytes - entry->labels;
    return frame_bytes <= reading->frame_bytes
               ? 0
               : refuse_line(reading,
                             "the labels do not fit a frame: give fewer, or raise `frame`");
}

/* Appends the name of the place, which has one line, to map->text. */
static int name_read(const struct reading *reading, const char *begin, const char *end,
                     struct entry *entry)
{
    struct here_map *map = reading->map;
    bool has_control = false;

    here_trim(&begin, &end);
    size_t length = (size_t)(end - begin);
    if (length == 0 || memchr(begin, '|', length) != NULL) {
        return refuse_line(reading, "behind `|` stands the name of the place, such as "
                                    "10.1.7.0/24 = place:office | Office");
    }
    if (length > LIMIT_PLACE_NAME_BYTES) {
        return refuse_line(reading, "the name of a place has at most %d bytes",
                           LIMIT_PLACE_NAME_BYTES);
    }
    for (size_t i = 0; i < length; i++) {
        has_control = has_control || (unsigned char)begin[i] < ' ' || begin[i] == 0x7f;
    }
    if (has_control || !label_is_utf8(begin, length) || !character_any_seen(begin, length)) {
        return refuse_line(reading, "the name of a place is a text in UTF-8 that can be seen, "
                                    "without control characters");
    }
    memcpy(map->text + map->text_bytes, begin, length);
    map->text[map->text_bytes + length] = '\n';
    entry->name = (struct hearsay_text){map->text + map->text_bytes, length};
    map->text_bytes += length + 1;
    return 0;
}

static int line_read(struct reading *reading, const char *begin, const char *end)
{
    struct here_map *map = reading->map;

    here_trim(&begin, &end);
    if (begin == end || *begin == '#') {
        return 0;
    }
    const char *equals = find_or_end(begin, end, '=');
    const char *last = equals;
    if (equals == end) {
        return refuse_line(reading, "a line is a prefix, `=` and labels, such as "
                                    "10.1.7.0/24 = place:office");
    }
    if (map->count == HERE_MAP_LINES_MAX) {
        return refuse_line(reading, "there may be at most %d prefixes", HERE_MAP_LINES_MAX);
    }
    struct entry entry = {.line = reading->line};
    here_trim(&begin, &last);
    int rc = prefix_read(reading, begin, last, &entry);
    const char *bar = find_or_end(equals, end, '|');
    if (rc == 0) {
        rc = labels_read(reading, equals + 1, bar, &entry);
    }
    if (rc == 0 && bar < end) {
        rc = name_read(reading, bar + 1, end, &entry);
    }
    if (rc == 0) {
        map->entries[map->count++] = entry;
    }
    return rc;
}

/* Counts a line that is left out. out_reason keeps the sentence about the first. */
static void leave_line_out(struct here_map *map, unsigned line, const char *reason,
                           char *out_reason)
{
    if (map->left_out.count == 0) {
        (void)snprintf(out_reason, HERE_MAP_REASON_BYTES, "%s", reason);
    }
    here_leave_out(&map->left_out, line);
}

/* Of two lines with the same prefix the first one counts. Their order in the table is that of the
 * lines, because entry_compare compares these last. */
static void leave_repeated_out(struct here_map *map, char *out_reason)
{
    char reason[HERE_MAP_REASON_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < map->count; i++) {
        const struct entry *entry = &map->entries[i];

        if (count > 0 && prefix_compare(entry, &map->entries[count - 1]) == 0) {
            (void)snprintf(reason, sizeof(reason),
                           "line %u: line %u has the same prefix; give a prefix once", entry->line,
                           map->entries[count - 1].line);
            leave_line_out(map, entry->line, reason, out_reason);
        } else {
            map->entries[count++] = *entry;
        }
    }
    map->count = count;
}

static int name_compare(const struct hearsay_text *a, const struct hearsay_text *b)
{
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, shorter);

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

/* Of places with the same name that of the earlier line comes first. */
static int place_compare(const void *a, const void *b)
{
    const struct place *left = a;
    const struct place *right = b;
    int order = name_compare(&left->entry.name, &right->entry.name);

    return order != 0
               ? order
               : (left->entry.line > right->entry.line) - (left->entry.line < right->entry.line);
}

/* Fills in a place for each line that has a name, in order. -ERR_NOMEM. */
static int places_take(struct here_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        map->place_count += map->entries[i].name.length > 0;
    }
    if (map->place_count == 0) {
        return 0;
    }
    map->places = alloc_zeroed(map->alloc, map->place_count, sizeof(map->places[0]));
    if (map->places == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0, at = 0; i < map->count; i++) {
        const struct entry *entry = &map->entries[i];

        if (entry->name.length > 0) {
            map->places[at++] = (struct place){*entry, i};
        }
    }
    qsort(map->places, map->place_count, sizeof(map->places[0]), place_compare);
    return 0;
}

/* Whether both entries have the same labels. */
static bool same_labels(const struct here_map *a, const struct entry *left,
                        const struct here_map *b, const struct entry *right)
{
    return left->labels_bytes == right->labels_bytes &&
           memcmp(a->text + left->labels, b->text + right->labels, left->labels_bytes) == 0;
}

/* A name stands for one place: of its lines, those with other labels than the first are marked, and
 * lines with more names than a map may have. */
static void places_merge(struct here_map *map, char *out_reason)
{
    char reason[HERE_MAP_REASON_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < map->place_count; i++) {
        const struct entry *place = &map->places[i].entry;
        const struct entry *first = count > 0 ? &map->places[count - 1].entry : NULL;

        if (first == NULL || name_compare(&first->name, &place->name) != 0) {
            if (count < LIMIT_PLACES) {
                map->places[count++] = map->places[i];
                continue;
            }
            (void)snprintf(reason, sizeof(reason),
                           "line %u: a map has at most %d names of places, and this is one more",
                           place->line, LIMIT_PLACES);
            leave_line_out(map, place->line, reason, out_reason);
            map->entries[map->places[i].at].is_wrong = true;
        } else if (!same_labels(map, first, map, place)) {
            (void)snprintf(reason, sizeof(reason),
                           "line %u: line %u has the same name and other labels; a name is of one "
                           "place, so give both the same labels in the same order",
                           place->line, first->line);
            leave_line_out(map, place->line, reason, out_reason);
            map->entries[map->places[i].at].is_wrong = true;
        }
    }
    map->place_count = count;
}

/* Orders the entries for here_map_find, and the places by name. -ERR_NOMEM. */
static int map_finish(struct here_map *map, char *out_reason)
{
    size_t count = 0;

    if (map->count > 0) {
        qsort(map->entries, map->count, sizeof(map->entries[0]), entry_compare);
    }
    leave_repeated_out(map, out_reason);
    if (places_take(map) != 0) {
        return -ERR_NOMEM;
    }
    places_merge(map, out_reason);
    for (size_t i = 0; i < map->count; i++) {
        struct entry entry = map->entries[i];

        if (!entry.is_wrong) {
            map->entries[count++] = entry;
            map->lengths[entry.prefix.family == 6][entry.length] = 1;
        }
    }
    map->count = count;
    return 0;
}

static int text_read(struct here_map *map, const char *text, size_t bytes, size_t frame_bytes,
                     char *out_reason)
{
    char reason[HERE_MAP_REASON_BYTES];
    struct reading reading = {.map = map, .frame_bytes = frame_bytes, .reason = reason};
    const char *end = text + bytes;

    while (text < end) {
        const char *line_end = find_or_end(text, end, '\n');
        size_t text_bytes = map->text_bytes;

        reading.line++;
        if (line_read(&reading, text, line_end) != 0) {
            map->text_bytes = text_bytes; /* without the labels before the wrong one */
            leave_line_out(map, reading.line, reason, out_reason);
        }
        text = line_end < end ? line_end + 1 : end;
    }
    if (map_finish(map, out_reason) != 0) {
        return -ERR_NOMEM;
    }
    here_name_left_out(&map->left_out, out_reason, HERE_MAP_REASON_BYTES);
    return map->count == 0 && map->left_out.count > 0 ? HERE_MAP_REFUSED : 0;
}

/*
 * Returns an upper bound of the prefixes that a table of this text may have: the number of `=`, but
 * at most HERE_MAP_LINES_MAX.
 */
static size_t count_prefixes(const char *text, size_t bytes)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++) {
        count += text[i] == '=';
    }
    return count < HERE_MAP_LINES_MAX ? count : HERE_MAP_LINES_MAX;
}

int here_map_new(const struct alloc *alloc, const char *text, size_t bytes, size_t frame_bytes,
                 struct here_map **out_map, char *out_reason)
{
    if (bytes > HERE_MAP_BYTES_MAX) {
        (void)snprintf(out_reason, HERE_MAP_REASON_BYTES,
                       "the file is too large; at most %d bytes are read", HERE_MAP_BYTES_MAX);
        return HERE_MAP_REFUSED;
    }
    struct here_map *map = alloc_zeroed(alloc, 1, sizeof(*map));
    if (map == NULL) {
        return -ERR_NOMEM;
    }
    map->alloc = alloc;
    /*
     * In `text` one byte or more, or the end of the text, follows each label and each name.
     * map->text has one line feed after each, so `bytes` + 1 are enough.
     */
    map->text = alloc_zeroed(alloc, bytes + 1, 1);
    map->entries = alloc_zeroed(alloc, count_prefixes(text, bytes) + 1, sizeof(map->entries[0]));
    int rc = map->text == NULL || map->entries == NULL
                 ? -ERR_NOMEM
                 : text_read(map, text, bytes, frame_bytes, out_reason);
    if (rc != 0) {
        here_map_free(map);
        return rc;
    }
    *out_map = map;
    return 0;
}

void here_map_free(struct here_map *map)
{
    if (map != NULL) {
        const struct alloc *alloc = map->alloc;

        alloc_release(alloc, map->entries);
        alloc_release(alloc, map->places);
        alloc_release(alloc, map->text);
        alloc_release(alloc, map);
    }
}

/* --- finding ---------------------------------------------------------------------------------- */

size_t here_map_count(const struct here_map *map)
{
    return map->count;
}

size_t here_map_left_out(const struct here_map *map)
{
    return map->left_out.count;
}

static const struct entry *entry_find(const struct here_map *map,
                                      const struct here_address *address)
{
    if (map == NULL || map->count == 0 || address->family == 0) {
        return NULL;
    }
    for (unsigned length = family_bits(address->family) + 1; length-- > 0;) {
        if (!map->lengths[address->family == 6][length]) {
            continue;
        }
        struct entry sought = {.prefix = prefix_of(address, length), .length = (uint8_t)length};
        const struct entry *found =
            bsearch(&sought, map->entries, map->count, sizeof(sought), prefix_compare);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static size_t labels_write(const struct here_map *map, const struct entry *entry,
                           struct hearsay_text *out_labels)
{
    const char *at = map->text + entry->labels;
    const char *stop = at + entry->labels_bytes;
    size_t count = 0;

    while (at < stop) {
        const char *end = find_or_end(at, stop, '\n');

        out_labels[count++] = (struct hearsay_text){at, (size_t)(end - at)};
        at = end + 1;
    }
    return count;
}

size_t here_map_find(const struct here_map *map, const struct here_address *address,
                     struct hearsay_text *out_labels)
{
    const struct entry *entry = entry_find(map, address);

    return entry == NULL ? 0 : labels_write(map, entry, out_labels);
}

struct hearsay_text here_map_name(const struct here_map *map, const struct here_address *address)
{
    const struct entry *entry = entry_find(map, address);

    return entry == NULL ? (struct hearsay_text){NULL, 0} : entry->name;
}

size_t here_map_places(const struct here_map *map, struct hearsay_text *out_names)
{
    size_t count = map == NULL ? 0 : map->place_count;

    for (size_t i = 0; i < count; i++) {
        out_names[i] = map->places[i].entry.name;
    }
    return count;
}

static int place_find(const void *name, const void *place)
{
    return name_compare(name, &((const struct place *)place)->entry.name);
}

size_t here_map_place(const struct here_map *map, const struct hearsay_text *name,
                      struct hearsay_text *out_labels)
{
    const struct place *place =
        map == NULL || map->place_count == 0
            ? NULL
            : bsearch(name, map->places, map->place_count, sizeof(map->places[0]), place_find);

    return place == NULL ? 0 : labels_write(map, &place->entry, out_labels);
}

bool here_map_agrees(const struct here_map *a, const struct here_map *b,
                     const struct here_address *address)
{
    const struct entry *left = entry_find(a, address);
    const struct entry *right = entry_find(b, address);

    return left == NULL || right == NULL ? left == right : same_labels(a, left, b, right);
}
