/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Near means near: by their positions alone, two people who stand 30 m apart are within the
 * distance that a host suggests, and two people who are kilometres apart are not.
 */
#include <math.h>

#include "core/filter/bloom.h"
#include "core/profile/phi.h"
#include "tests/lib/encode.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

enum { PAIRS = 4000, BOUND_PPM = 772500 };

/* The default profile. The attribute geo has no section of its own there. */
static const char profile_text[] = "v2:wifi=362/2,place=53/7,any=97/4";

static const double pi = 3.14159265358979323846;
static const double metres_a_degree = 111194.9;

struct place {
    double latitude;
    double longitude;
};

/* A random number from `low` on and below `high`. */
static double between(struct rng *rng, double low, double high)
{
    return low + (high - low) * ((double)(rng_next(rng) >> 11) / 9007199254740992.0);
}

/* The place so many metres away in a random direction, on a sphere. */
static struct place moved(struct rng *rng, struct place place, double metres)
{
    double bearing = between(rng, 0, 2 * pi);
    double north = metres * cos(bearing) / metres_a_degree;
    double east = metres * sin(bearing) / metres_a_degree / cos(place.latitude * pi / 180);
    double longitude = place.longitude + east;
    longitude -= longitude >= 180 ? 360 : 0;
    longitude += longitude < -180 ? 360 : 0;
    return (struct place){place.latitude + north, longitude};
}

/* Writes the filter of a position alone, as words. */
static void encode_place(struct hearsay_context *context, struct place place,
                         uint64_t out_words[PROFILE_WORDS_MAX])
{
    struct hearsay_filter filter;
    size_t count = 0;
    hearsay_context_clear(context);
    assert_int_equal(hearsay_context_add_position(context, place.latitude, place.longitude, NULL),
                     HEARSAY_OK);
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_int_equal(encode_labels(profile_text, NULL, labels, count, &filter, NULL), HEARSAY_OK);
    assert_int_equal(bloom_load(out_words, filter.bits, filter.bytes, filter.byte_count), 0);
}

static bool is_near(struct hearsay_context *context, const struct profile *profile,
                    struct place here, struct place there)
{
    uint64_t query[PROFILE_WORDS_MAX];
    uint64_t message[PROFILE_WORDS_MAX];
    struct phi_query asked;
    encode_place(context, here, query);
    encode_place(context, there, message);
    phi_ask(&asked, profile, query);
    uint32_t overlap = bloom_intersection_count(query, message, bloom_words(profile->bits));
    return phi_similarity(&asked, message, overlap).shared >= phi_least(BOUND_PPM);
}

/* Pairs of people who stand so far apart, up to 60 degrees north and south: how many per cent are
 * near each other. */
static double percent_near(struct rng *rng, double metres)
{
    struct hearsay_context *context = NULL;
    const struct profile profile = profile_of(profile_text);
    unsigned near = 0;
    assert_int_equal(hearsay_context_new(&context, NULL), HEARSAY_OK);
    for (unsigned i = 0; i < PAIRS; i++) {
        struct place here = {between(rng, -60, 60), between(rng, -180, 180)};
        near += is_near(context, &profile, here, moved(rng, here, metres)) ? 1 : 0;
    }
    hearsay_context_free(context);
    double percent = 100.0 * near / PAIRS;
    printf("%.0f m apart: %.2f %% are near\n", metres, percent);
    return percent;
}

TEST(test_few_steps_are_near)
{
    struct rng rng;
    rng_init(&rng);
    assert_true(percent_near(&rng, 3) >= 95);
    assert_true(percent_near(&rng, 30) >= 95);
}

TEST(test_kilometres_are_not_near)
{
    struct rng rng;
    rng_init(&rng);
    double of_3_km = percent_near(&rng, 3000);
    double of_10_km = percent_near(&rng, 10000);
    assert_true(of_3_km <= 3 && of_10_km <= 3);
}
