/* SPDX-License-Identifier: Apache-2.0 */
/* A table from prefixes to labels: which line holds an address, and what is wrong with a line. */
#include "daemon/host/here_map.h"

#include <arpa/inet.h>

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { FRAME_BYTES = 4096 };

static char reason[HERE_MAP_REASON_BYTES];

static int map_read(const char *text, struct here_map **out_map)
{
    reason[0] = '\0';
    return here_map_new(alloc_system(), text, strlen(text), FRAME_BYTES, out_map, reason);
}

static struct here_address address_of(const char *text)
{
    struct here_address address = {.family = 4};

    if (inet_pton(AF_INET, text, address.bytes) != 1) {
        address.family = 6;
        assert_int_equal(inet_pton(AF_INET6, text, address.bytes), 1);
    }
    return address;
}

/* The labels of an address with commas between them. */
static const char *labels_of(const struct here_map *map, const struct here_address *address)
{
    static char text[8192];
    struct hearsay_text labels[LIMIT_LABELS];
    size_t count = here_map_find(map, address, labels);
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s", i > 0 ? "," : "",
                                 (int)labels[i].length, labels[i].text);
    }
    return text;
}

static void assert_place(const struct here_map *map, const char *address, const char *labels)
{
    struct here_address bytes = address_of(address);

    assert_string_equal(labels_of(map, &bytes), labels);
}

TEST(the_longest_prefix_wins)
{
    struct here_map *map = NULL;

    assert_int_equal(map_read("# a house\n\n"
                              "  10.1.7.0/24=place:office,topic:a=b\r\n"
                              "10.1.0.0/16 = place:house\n"
                              "\t10.1.7.9 =\tplace:desk \n"
                              "2001:db8::/32 = place:six\n"
                              "2001:db8::1/128 = place:one, geo:u281zd",
                              &map),
                     0);
    assert_int_equal(here_map_count(map), 5);
    assert_place(map, "10.1.7.9", "place:desk");
    assert_place(map, "10.1.7.8", "place:office,topic:a=b");
    assert_place(map, "10.1.8.0", "place:house");
    assert_place(map, "10.2.0.0", "");
    assert_place(map, "2001:db8::1", "place:one,geo:u281zd");
    assert_place(map, "2001:db8::2", "place:six");
    assert_place(map, "2001:db9::", "");
    here_map_free(map);
}

static void assert_name(const struct here_map *map, const char *address, const char *name)
{
    struct here_address bytes = address_of(address);
    struct hearsay_text found = here_map_name(map, &bytes);

    assert_int_equal(found.length, strlen(name));
    assert_memory_equal(found.length > 0 ? found.text : "", name, found.length);
}

TEST(a_place_may_have_a_name)
{
    struct hearsay_text names[LIMIT_PLACES];
    struct here_map *map = NULL;

    assert_int_equal(map_read("10.1.7.0/24 = place:bar, geo:u281zd| The bar \n"
                              "2001:db8::/32 = place:bar, geo:u281zd | The bar\n"
                              "10.1.0.0/16 = place:all\n"
                              "10.1.7.9 = place:stage|B\xc3\xbchne 1, Nord",
                              &map),
                     0);
    assert_place(map, "10.1.7.1", "place:bar,geo:u281zd");
    assert_name(map, "10.1.7.1", "The bar");
    assert_name(map, "2001:db8::1", "The bar");
    assert_name(map, "10.1.8.1", "");
    assert_name(map, "10.2.0.1", "");
    assert_name(map, "10.1.7.9", "B\xc3\xbchne 1, Nord");
    assert_name(NULL, "10.1.7.9", "");
    assert_int_equal(here_map_places(map, names), 2);
    assert_memory_equal(names[0].text, "B\xc3\xbchne 1, Nord", names[0].length);
    assert_memory_equal(names[1].text, "The bar", names[1].length);
    assert_int_equal(here_map_places(NULL, names), 0);
    here_map_free(map);
}

/* By its name a place is chosen, for a notice or a list: so a name is of one place. */
TEST(a_name_is_of_one_place)
{
    struct hearsay_text names[LIMIT_PLACES];
    struct here_map *map = NULL;

    assert_int_equal(map_read("10.0.0.9 = a:b | Bar\n10.0.0.1 = a:c | Bar\n10.0.0.2 = a:b | Bar\n"
                              "10.0.0.3 = a:b | Ba\n",
                              &map),
                     0);
    assert_string_equal(reason, "line 2: line 1 has the same name and other labels; a name is of "
                                "one place, so give both the same labels in the same order; lines "
                                "left out: 1");
    assert_int_equal(here_map_left_out(map), 1);
    assert_int_equal(here_map_count(map), 3);
    assert_place(map, "10.0.0.1", "");
    assert_name(map, "10.0.0.2", "Bar");
    assert_int_equal(here_map_places(map, names), 2);
    here_map_free(map);
}

TEST(families_are_apart)
{
    struct here_address nobody = {.family = 0};
    struct here_map *map = NULL;

    assert_int_equal(map_read("0.0.0.0/0 = a:four\n::/0 = a:six\n", &map), 0);
    assert_place(map, "255.255.255.255", "a:four");
    assert_place(map, "0.0.0.0", "a:four");
    assert_place(map, "::", "a:six");
    assert_string_equal(labels_of(map, &nobody), "");
    assert_string_equal(labels_of(NULL, &nobody), "");
    here_map_free(map);
    assert_int_equal(map_read("# nothing\n", &map), 0);
    assert_place(map, "10.0.0.1", "");
    here_map_free(map);
    here_map_free(NULL);
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text;
        const char *line;
        const char *part; /* of the sentence */
    } rows[] = {
        {"# x\nfoo = a:b\n", "line 2: ", "10.1.7.0/24"},
        {"10.0.0.0/8 a:b\n", "line 1: ", "`=`"},
        {"\n= a:b\n", "line 2: ", "begins with an address"},
        {"10.0.0.0/33 = a:b\n", "line 1: ", "0 to 32"},
        {"10.0.0.0/ = a:b\n", "line 1: ", "0 to 32"},
        {"10.0.0.0/-1 = a:b\n", "line 1: ", "0 to 32"},
        {"10.0.0.0/4294967300 = a:b\n", "line 1: ", "0 to 32"},
        {"2001:db8::/129 = a:b\n", "line 1: ", "0 to 128"},
        {"10.0.0.1/24 = a:b\n", "line 1: ", "zero"},
        {"2001:db8::1/64 = a:b\n", "line 1: ", "zero"},
        {"::ffff:10.0.0.1 = a:b\n", "line 1: ", "IPv4"},
        {"10.0.0 = a:b\n", "line 1: ", "begins with an address"},
        {"10.0.0.1 =\n", "line 1: ", "label"},
        {"10.0.0.1 = a:b,,a:c\n", "line 1: ", "label"},
        {"10.0.0.1 = nolabel\n", "line 1: ", "label"},
        {"10.0.0.1 = a:b, topic:Tea\n", "line 1: ", "clients write topic:tea"},
        {"10.0.0.1 = a:b topic:tea\n", "line 1: ", "write a comma between labels"},
        {"10.0.0.1 = a:\xff\n", "line 1: ", "UTF-8"},
        {"10.0.0.1 = a:b |\n", "line 1: ", "the name of the place, such as"},
        {"10.0.0.1 = a:b | x | y\n", "line 1: ", "the name of the place, such as"},
        {"10.0.0.1 = | x\n", "line 1: ", "label"},
        {"10.0.0.1 = a:b | \xff\n", "line 1: ", "name of a place is a text in UTF-8"},
        {"10.0.0.1 = a:b | \xe2\x80\x8b\n", "line 1: ", "that can be seen"},
        {"10.0.0.1 = a:b | x\ty\n", "line 1: ", "control characters"},
        {"10.0.0.1 = a:b | "
         "0123456789012345678901234567890123456789012345678901234567890123+\n",
         "line 1: ", "at most 64 bytes"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct here_map *map = NULL;

        assert_int_equal(map_read(rows[i].text, &map), HERE_MAP_REFUSED);
        assert_null(map);
        assert_memory_equal(reason, rows[i].line, strlen(rows[i].line));
        assert_non_null(strstr(reason, rows[i].part));
    }
}

/* One odd line does not cost the others. Labels in front of what is wrong in it do not count. */
TEST(a_wrong_line_is_left_out)
{
    struct here_map *map = NULL;

    assert_int_equal(map_read("10.0.0.0/8 = a:b\n10.1.0.0/16 = a:c,nolabel\nfoo = a:b\n"
                              "10.0.0.1 = a:d\n10.0.0.1/32 = a:e\n10.0.0.2 = a:f",
                              &map),
                     0);
    assert_int_equal(here_map_count(map), 3);
    assert_int_equal(here_map_left_out(map), 3);
    assert_memory_equal(reason, "line 2: ", 8);
    /* The repeated prefix is noticed last. */
    assert_non_null(strstr(reason, "; lines left out: 3 (2, 3, 5)"));
    assert_place(map, "10.1.0.1", "a:b");
    assert_place(map, "10.0.0.1", "a:d");
    assert_place(map, "10.0.0.2", "a:f");
    here_map_free(map);
    assert_int_equal(map_read("10.0.0.1 = a:b\n\n10.0.0.1/32 = a:c\n", &map), 0);
    assert_string_equal(reason, "line 3: line 1 has the same prefix; give a prefix once; "
                                "lines left out: 1");
    assert_place(map, "10.0.0.1", "a:b");
    here_map_free(map);
}

TEST(there_are_bounds)
{
    size_t room = (size_t)HERE_MAP_BYTES_MAX + 2;
    char *text = malloc(room);
    struct hearsay_text names[LIMIT_PLACES];
    struct here_map *map = NULL;
    size_t used = 0;

    assert_non_null(text);
    for (unsigned i = 0; i < HERE_MAP_LINES_MAX; i++) {
        used += (size_t)snprintf(text + used, room - used, "10.%u.%u.%u = place:p%u\n", i >> 14,
                                 i >> 8 & 0x3f, i & 0xff, i);
    }
    assert_int_equal(map_read(text, &map), 0);
    assert_int_equal(here_map_count(map), HERE_MAP_LINES_MAX);
    assert_place(map, "10.3.63.255", "place:p65535");
    here_map_free(map);
    (void)snprintf(text + used, room - used, "11.0.0.0 = place:more\n");
    assert_int_equal(map_read(text, &map), 0);
    assert_int_equal(here_map_count(map), HERE_MAP_LINES_MAX);
    assert_int_equal(here_map_left_out(map), 1);
    assert_non_null(strstr(reason, "65536 prefixes"));
    here_map_free(map);

    memset(text, '\n', room);
    assert_int_equal(here_map_new(alloc_system(), text, room - 1, FRAME_BYTES, &map, reason),
                     HERE_MAP_REFUSED);
    assert_non_null(strstr(reason, "too large"));

    used = 0;
    for (unsigned i = 0; i <= LIMIT_PLACES; i++) {
        used += (size_t)snprintf(text + used, room - used, "10.0.%u.%u = a:b | %u\n", i >> 8,
                                 i & 0xff, i);
    }
    assert_int_equal(map_read(text, &map), 0);
    assert_int_equal(here_map_places(map, names), LIMIT_PLACES);
    here_map_free(map);

    used = (size_t)snprintf(text, room, "10.0.0.1 = a:0");
    for (unsigned i = 1; i <= LIMIT_LABELS; i++) {
        used += (size_t)snprintf(text + used, room - used, ",a:%u", i);
    }
    assert_int_equal(map_read(text, &map), HERE_MAP_REFUSED);
    assert_non_null(strstr(reason, "256 labels"));
    text[used - strlen(",a:256")] = '\0';
    assert_int_equal(map_read(text, &map), 0);
    here_map_free(map);
    assert_int_equal(here_map_new(alloc_system(), "10.0.0.1 = abc:d", 16, 7, &map, reason),
                     HERE_MAP_REFUSED);
    assert_non_null(strstr(reason, "`frame`"));
    free(text);
}

TEST(changes_are_noticed)
{
    struct here_address a = address_of("10.0.0.1");
    struct here_address b = address_of("10.0.0.2");
    struct here_map *old = NULL;
    struct here_map *new = NULL;

    assert_int_equal(map_read("10.0.0.1 = a:1\n10.0.0.2 = a:2\n", &old), 0);
    assert_int_equal(map_read("10.0.0.2 = a:1\n10.0.0.0/24 = a:1\n", &new), 0);
    assert_true(here_map_agrees(old, new, &a));
    assert_false(here_map_agrees(old, new, &b));
    assert_false(here_map_agrees(old, NULL, &a));
    assert_true(here_map_agrees(NULL, NULL, &a));
    here_map_free(old);
    here_map_free(new);
}

/* --- beside a plain search -------------------------------------------------------------------- */

enum { RANDOM_LINES = 60, RANDOM_ADDRESSES = 400 };

struct random_line {
    struct here_address prefix;
    unsigned length;
};

static bool holds(const struct random_line *line, const struct here_address *address)
{
    if (line->prefix.family != address->family) {
        return false;
    }
    for (unsigned i = 0; i < line->length; i++) {
        if (((line->prefix.bytes[i / 8] ^ address->bytes[i / 8]) >> (7 - i % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

/* Few different bits, so that prefixes are inside one another. */
static struct here_address random_address(struct rng *rng)
{
    struct here_address address = {.family = rng_below(rng, 2) == 0 ? 4 : 6};

    for (unsigned i = 0; i < (address.family == 4 ? 4U : 16U); i++) {
        address.bytes[i] = (uint8_t)(rng_below(rng, 3) == 0 ? 1U << rng_below(rng, 8) : 0U);
    }
    address.bytes[0] |= 0x20; /* no mapped address */
    return address;
}

TEST(answers_are_those_of_a_plain_search)
{
    struct random_line lines[RANDOM_LINES];
    char text[RANDOM_LINES * 80];
    struct rng rng;

    rng_init(&rng);
    for (int round = 0; round < 50; round++) {
        struct here_map *map = NULL;
        size_t used = 0;
        size_t count = 0;

        while (count < RANDOM_LINES) {
            struct random_line line = {.prefix = random_address(&rng)};
            char prefix[INET6_ADDRSTRLEN];
            bool is_there = false;

            line.length = rng_below(&rng, line.prefix.family == 4 ? 33 : 129);
            for (unsigned i = line.length; i < 128; i++) {
                line.prefix.bytes[i / 8] &= (uint8_t) ~(0x80U >> i % 8);
            }
            for (size_t i = 0; i < count; i++) {
                is_there = is_there || (lines[i].length == line.length &&
                                        memcmp(&lines[i].prefix, &line.prefix, 17) == 0);
            }
            if (is_there) {
                continue;
            }
            assert_non_null(inet_ntop(line.prefix.family == 4 ? AF_INET : AF_INET6,
                                      line.prefix.bytes, prefix, sizeof(prefix)));
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s/%u = a:%zu\n", prefix,
                                     line.length, count);
            lines[count++] = line;
        }
        assert_int_equal(map_read(text, &map), 0);
        for (int i = 0; i < RANDOM_ADDRESSES; i++) {
            struct here_address address = random_address(&rng);
            char expected[32] = "";
            int longest = -1;

            for (size_t j = 0; j < count; j++) {
                if (holds(&lines[j], &address) && (int)lines[j].length > longest) {
                    longest = (int)lines[j].length;
                    (void)snprintf(expected, sizeof(expected), "a:%zu", j);
                }
            }
            assert_string_equal(labels_of(map, &address), expected);
        }
        here_map_free(map);
    }
}

TEST(memory_that_runs_out)
{
    static const char text[] = "10.0.0.1 = a:1 | A\n";
    struct fail_alloc alloc;
    struct here_map *map = NULL;
    int rc = -ERR_NOMEM;

    fail_alloc_init(&alloc);
    for (size_t n = 1; rc == -ERR_NOMEM; n++) {
        fail_alloc_arm(&alloc, n);
        rc = here_map_new(&alloc.alloc, text, sizeof(text) - 1, FRAME_BYTES, &map, reason);
        assert_true(n == 5 ? rc == 0 : rc == -ERR_NOMEM);
        assert_true(rc == 0 || alloc.live_bytes == 0);
    }
    here_map_free(map);
    assert_int_equal(alloc.live_bytes, 0);
}
