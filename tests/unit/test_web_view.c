/* SPDX-License-Identifier: Apache-2.0 */
/* Views: URLs that ask for the same thing are one view, so that one answer serves all of them. */
#include "client/web/view.h"

#include <ctype.h>

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

static struct view view_of(const char *query)
{
    struct view view;
    const char *field = "none";

    if (!view_read(query, &view, &field)) {
        fail_msg("%s: refused for %s", query, field);
    }
    return view;
}

static void assert_refused(const char *query, const char *expected)
{
    struct view view;
    const char *field = "none";

    assert_false(view_read(query, &view, &field));
    assert_string_equal(field, expected);
}

static void assert_url(const char *query, const char *expected)
{
    struct view view = view_of(query);
    char url[VIEW_URL_BYTES];

    view_write(&view, url);
    assert_string_equal(url, expected);
}

TEST(an_empty_query_is_the_newest_messages)
{
    struct view view = view_of("");

    assert_int_equal(view.topic_count, 0);
    assert_int_equal(view.order, VIEW_NEWEST);
    assert_false(view.is_now);
    assert_true(view.before_ms == INT64_MAX);
    assert_string_equal(view.host, "");
    assert_string_equal(view.place, "");
    assert_url("", "/");
}

TEST(around_here_is_another_view)
{
    struct view here = view_of("t=jazz");
    struct view around = view_of("t=jazz&a=1");

    assert_false(here.is_hood);
    assert_true(around.is_hood);
    assert_false(view_equal(&here, &around));
    assert_url("a=1&t=jazz&o=near", "/?t=jazz&a=1&o=near");
    assert_url("a=0", "/");
    assert_refused("a=2", "a");
}

TEST(one_message_may_be_at_another_host)
{
    struct view view = view_of("at=library");

    assert_string_equal(view.at, "library");
    assert_true(view.is_hood); /* the way back leads around here */
    assert_url("at=library", "/?a=1");
    assert_refused("at=no+name", "at");
    assert_refused("at="
                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                   "at");
}

TEST(equal_wishes_are_one_url)
{
    assert_url("t=Jazz&t=blues", "/?t=blues&t=jazz");
    assert_url("t=blues,+JAZZ,,&o=new&now=0&before=&l=&h=", "/?t=blues&t=jazz");
    assert_url("t=jazz%D8%8Cblues", "/?t=blues&t=jazz");
    assert_url("t=jazz&t=JAZZ&t=+jazz+", "/?t=jazz");
    /* Composed and decomposed, sharp s and its case folding. */
    assert_url("t=Caf%C3%A9", "/?t=caf%C3%A9");
    assert_url("t=cafe%CC%81", "/?t=caf%C3%A9");
    assert_url("t=Gru%C3%9F", "/?t=gruss");
    assert_url("before=17&o=near", "/?o=near");
    assert_url("l=de&before=17&now=1&h=lobby&unknown=x", "/?h=lobby&now=1&before=17&l=de");
}

TEST(wrong_fields_are_named)
{
    char long_topic[200] = "t=";

    assert_refused("o=far", "o");
    assert_refused("now=yes", "now");
    assert_refused("before=-1", "before");
    assert_refused("before=0", "before");
    assert_refused("before=9223372036854775808", "before");
    assert_refused("before=99999999999999999999999", "before");
    assert_refused("before=1x", "before");
    assert_refused("l=a%22b", "l");
    assert_refused("l=much-too-long", "l");
    assert_refused("h=No", "h");
    assert_refused("t=%FF", "t");
    assert_refused("t=a%01b", "t");
    assert_refused("t=a&t=b&t=c&t=d&t=e", "t");
    assert_refused("t=%", "url");
    memset(long_topic + 2, 'x', 60);
    assert_int_equal(view_of(long_topic).topic_count, 1);
    memset(long_topic + 2, 'x', 61);
    assert_refused(long_topic, "t");
}

/* The largest number that a URL can hold is a moment like any other. */
TEST(the_last_moment_is_all)
{
    assert_url("before=9223372036854775806", "/?before=9223372036854775806");
    assert_url("before=9223372036854775807", "/");
}

TEST(place_and_language)
{
    struct view a = view_of("t=x&l=de");
    struct view b = view_of("t=x&l=ar");

    assert_true(view_equal(&a, &b));
    snprintf(b.place, sizeof(b.place), "place:library\n");
    assert_false(view_equal(&a, &b));
}

/* Appends a field with a random value, percent-encoded at random. */
static void append_field(struct rng *rng, char *query, size_t room, const char *name,
                         const char *value)
{
    size_t used = strlen(query);

    used += (size_t)snprintf(query + used, room - used, "%s%s=", used > 0 ? "&" : "", name);
    for (; *value != '\0'; value++) {
        unsigned char c = (unsigned char)*value;

        used += (size_t)snprintf(query + used, room - used,
                                 isalnum(c) && rng_chance(rng, 70) ? "%c" : "%%%02x", c);
    }
}

/*
 * What a view writes reads as the same view, and writes the same again; the order of fields, the
 * case of topics and repeated topics do not matter. Every URL fits.
 */
TEST(a_url_is_its_view)
{
    static const char *const topics[][2] = {
        {"jazz", "JAZZ"},   {"a b", " A B "}, {"\xC3\xA9t\xC3\xA9", "\xC3\x89T\xC3\x89"},
        {"x&y=z", "X&Y=Z"}, {"100%", "100%"},
    };
    struct rng rng;

    rng_init(&rng);
    for (int round = 0; round < 3000; round++) {
        char forth[VIEW_URL_BYTES] = "";
        char back[VIEW_URL_BYTES] = "";
        uint32_t chosen = rng_below(&rng, 32);
        uint32_t count = 0;
        char number[24];

        snprintf(number, sizeof(number), "%u", 1 + rng_below(&rng, 1000000));
        for (uint32_t i = 0; i < 5; i++) {
            if ((chosen >> i & 1) != 0 && count < VIEW_TOPICS_MAX) {
                append_field(&rng, forth, sizeof(forth), "t", topics[i][0]);
                count++;
            } else {
                chosen &= ~(1u << i);
            }
        }
        append_field(&rng, forth, sizeof(forth), "before", number);
        append_field(&rng, back, sizeof(back), "before", number);
        for (uint32_t i = 5; i-- > 0;) {
            if ((chosen >> i & 1) != 0) {
                append_field(&rng, back, sizeof(back), "t", topics[i][1]);
                append_field(&rng, back, sizeof(back), "t", topics[i][0]);
            }
        }
        struct view a = view_of(forth);
        struct view b = view_of(back);
        char a_url[VIEW_URL_BYTES];
        char b_url[VIEW_URL_BYTES];

        assert_true(view_equal(&a, &b));
        view_write(&a, a_url);
        view_write(&b, b_url);
        assert_string_equal(a_url, b_url);
        struct view again = view_of(a_url + 2);
        assert_true(view_equal(&a, &again));
        assert_int_equal(again.topic_count, count);
    }
}

/* Four topics of 60 characters of a script whose letters have three bytes do not fit together. */
TEST(urls_stay_within_their_room)
{
    char query[VIEW_URL_BYTES] = "";
    char topic[200] = "";
    char url[VIEW_URL_BYTES];
    struct rng rng;

    rng_init(&rng);
    for (int i = 0; i < 60; i++) {
        strcat(topic, "\xE3\x81\x82");
    }
    append_field(&rng, query, sizeof(query), "t", topic);
    struct view view = view_of(query);
    snprintf(view.host, sizeof(view.host), "%063d", 0);
    view.before_ms = INT64_MAX - 1;
    snprintf(view.language, sizeof(view.language), "abcdefg");
    view_write(&view, url);
    struct view again = view_of(url + 2);
    assert_true(view_equal(&view, &again));
    topic[60] = '\0'; /* 20 characters, and another first one makes a further topic */
    for (char first = 'a'; first < 'd'; first++) {
        char other[256];

        snprintf(other, sizeof(other), "%c%s", first, topic);
        if (strlen(query) + 3 * strlen(other) + 4 < sizeof(query)) {
            append_field(&rng, query, sizeof(query), "t", other);
        }
    }
    assert_refused(query, "t");
}
