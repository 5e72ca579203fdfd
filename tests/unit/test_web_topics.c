/* SPDX-License-Identifier: Apache-2.0 */
/* The topics that a place offers: what the operator may write, and how often a message is said to
 * have one that it was not left with. */
#include "client/web/topics.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { CARDS = 2000, TEXT_BYTES = 200, LABELS_MAX = 12 };

static const int64_t noon_ms = INT64_C(1795345200000);

/* --- the list of the operator ----------------------------------------------------------------- */

static void check_refused(const char *text, const char *expected)
{
    struct topics topics;
    char why[TOPICS_WHY_BYTES] = "taken";

    assert_false(topics_read(text, &topics, why));
    if (strstr(why, expected) == NULL) {
        print_error("%s: %s\n", text, why);
        fail();
    }
}

TEST(test_read)
{
    static const char twenty_one[] = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u";
    struct topics topics;
    char why[TOPICS_WHY_BYTES];

    assert_true(topics_read("Coffee,  lost+found ,\tHilfe & Rat", &topics, why));
    assert_int_equal(topics.count, 3);
    assert_string_equal(topics.all[0].text, "Coffee");
    assert_string_equal(topics.all[0].normalised, "coffee");
    assert_string_equal(topics.all[1].text, "lost+found");
    assert_string_equal(topics.all[2].text, "Hilfe & Rat");
    assert_true(topics_read("abcdefghijklmnopqrstuvwx", &topics, why));
    check_refused("", "a topic is empty; write topics with one comma between");
    check_refused("coffee,,help", "a topic is empty");
    check_refused("coffee,", "a topic is empty");
    check_refused("abcdefghijklmnopqrstuvwxy", "24 characters at most; shorten `abcdefgh");
    check_refused("coffee, #Coffee", "`#Coffee` is there twice; name each topic once");
    check_refused(twenty_one, "20 topics at most; leave out `u` and what follows");
    check_refused("#", "topic");
}

/* --- the topics of messages ------------------------------------------------------------------- */

/* A place with `count` topics, and a message. */
struct card {
    struct topics topics;
    struct hearsay_host host;
    struct hearsay_result message;
    struct hearsay_filter filter;
};

static struct card card_of(const char *profile, size_t count)
{
    struct card card = {.host = {.name = "cafe", .profile = profile}};

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(card.topics.all[i].text, TOPICS_TEXT_BYTES, "topic %zu", i);
        (void)snprintf(card.topics.all[i].normalised, TOPICS_TEXT_BYTES, "topic %zu", i);
    }
    card.topics.count = count;
    card.message.deposited_ms = noon_ms;
    return card;
}

/* Leaves the message with topics of the place, and `others` that nobody offers. */
static void card_leave(struct card *card, uint32_t topics, uint32_t others, uint32_t salt,
                       bool is_now)
{
    struct hearsay_keys keys = {.epoch_key = card->host.epoch.key};
    struct hearsay_encode what = {.host = &card->host,
                                  .keys = card->message.epoch != 0 ? &keys : NULL};
    struct hearsay_context *context;
    char text[TEXT_BYTES];

    assert_int_equal(hearsay_context_new(&context, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_context_add_label(context, "place:cafe", NULL), HEARSAY_OK);
    for (size_t i = 0; i < card->topics.count; i++) {
        if ((topics >> i & 1U) != 0) {
            assert_int_equal(hearsay_context_add_topic(context, card->topics.all[i].text, NULL),
                             HEARSAY_OK);
        }
    }
    for (uint32_t i = 0; i < others; i++) {
        (void)snprintf(text, sizeof(text), "typed %u %u", (unsigned)salt, (unsigned)i);
        assert_int_equal(hearsay_context_add_topic(context, text, NULL), HEARSAY_OK);
    }
    if (is_now) {
        assert_int_equal(hearsay_context_add_time(context, noon_ms, NULL), HEARSAY_OK);
    }
    what.labels = hearsay_context_labels(context, &what.label_count);
    assert_int_equal(hearsay_encode(&what, &card->filter, NULL), HEARSAY_OK);
    card->message.filter = hearsay_filter_bytes(&card->filter);
    hearsay_context_free(context);
}

static unsigned ones(uint32_t bits)
{
    return (unsigned)__builtin_popcount(bits);
}

/*
 * At most one of 1,000 messages of a place with 20 topics has a wrong one, over all mixes: none to
 * four topics of the place, none to three that were typed, with "right now" and without. Beside one
 * typed topic, one of the place is shown on most cards.
 */
TEST(test_wrong_topics)
{
    struct card card = card_of("v2:wifi=362/2,place=53/7,any=97/4", TOPICS_MAX);
    struct topics_finder *finder = topics_finder_new(&card.topics, &card.host, "place:cafe\n");
    unsigned all_cards = 0;
    unsigned all_wrong = 0;
    struct rng rng;

    rng_init(&rng);
    assert_non_null(finder);
    for (uint32_t typed = 0; typed <= 3; typed++) {
        for (uint32_t offered = 0; offered + typed <= 4; offered++) {
            unsigned cards = CARDS;
            unsigned wrong = 0;
            unsigned shown = 0;
            unsigned left = 0;

            for (unsigned i = 0; i < cards; i++) {
                uint32_t topics = 0;

                while (ones(topics) < offered) {
                    topics |= 1U << rng_below(&rng, TOPICS_MAX);
                }
                card_leave(&card, topics, typed, (uint32_t)rng_next(&rng), rng_chance(&rng, 30));
                uint32_t found = topics_find(finder, &card.message);
                wrong += (found & ~topics) != 0;
                shown += ones(found & topics);
                left += offered;
            }
            print_message("%u offered, %u typed: wrong on %u of %u cards, %u of %u shown\n",
                          (unsigned)offered, (unsigned)typed, wrong, cards, shown, left);
            all_cards += cards;
            all_wrong += wrong;
            assert_true(typed > 0 || shown * 100 >= left * 95);
            assert_true(typed != 1 || offered != 1 || shown * 2 >= left);
        }
    }
    print_message("wrong on %u of %u cards\n", all_wrong, all_cards);
    assert_true(all_wrong * 1000 <= all_cards);
    free(finder);
}

TEST(test_other_filters)
{
    static const char *const profiles[] = {"v2:wifi=362/2,place=53/7,any=97/4", "v2:512/4",
                                           "v2:wifi=256/2,topic=96/2,any=160/2"};

    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        for (unsigned epoch = 0; epoch < 2; epoch++) {
            struct card card = card_of(profiles[i], 5);
            struct topics_finder *finder;

            card.host.epoch = (struct hearsay_epoch){.number = 7, .has_key = true};
            memset(card.host.epoch.key, 9, sizeof(card.host.epoch.key));
            card.message.epoch = epoch * 7;
            finder = topics_finder_new(&card.topics, &card.host, "place:cafe\n");
            card_leave(&card, 1U << 3, 0, 0, true);
            assert_int_equal(topics_find(finder, &card.message), 1U << 3);
            card.message.filter.count--;
            assert_int_equal(topics_find(finder, &card.message), 0);
            card.message.filter = (struct hearsay_bytes){NULL, 0};
            assert_int_equal(topics_find(finder, &card.message), 0);
            free(finder);
        }
    }
    struct card card = card_of("v2:wifi=448/2,place=64/8", 5);
    assert_null(topics_finder_new(&card.topics, &card.host, "")); /* its profile takes no topics */
    card = card_of(profiles[0], 0);
    assert_null(topics_finder_new(&card.topics, &card.host, ""));
    assert_int_equal(topics_find(NULL, &card.message), 0);
}
