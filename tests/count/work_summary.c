/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work summary: 64 messages join the groups of a host, the groups become an answer to a bridge,
 * and the bridge reads the answer and takes the groups in as those of a peer.
 */
#include <string.h>

#include "core/filter/bloom.h"
#include "core/hood/hood.h"
#include "core/summary/groups.h"
#include "proto/codec/codec.h"
#include "tests/bench/bench.h"
#include "tests/count/count.h"
#include "tests/count/requests.h"

enum {
    PEERS = 20,
    STORED_BEFORE = 200, /* messages of each peer */
    JOINING = 64,
    LIMIT = 32, /* groups of a host, by default */
    STORED = PEERS * (STORED_BEFORE + JOINING),
    ARENA_BYTES = 1024 * 1024
};

struct summary_work {
    struct filters filters;
    struct hood *hood;
    struct groups groups[PEERS];
    struct bytes frame;
    struct arena arena;
};

static void add_filters(struct summary_work *work, struct groups *groups, size_t first,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        groups_add(groups, filters_stored(&work->filters, first + i), (int64_t)(first + i));
    }
}

static void prepare_work(struct summary_work *work)
{
    struct profile *profile = &work->filters.profile;

    requests_make_filters("campus", STORED, 1, &work->filters);
    bytes_init(&work->frame, alloc_system());
    arena_init(&work->arena, alloc_system(), ARENA_BYTES);
    struct hood_options options = {
        .alloc = alloc_system(), .profile = profile, .kernels = bench_kernels()};
    if (options.kernels == NULL || hood_new(&options, PEERS, &work->hood) != 0) {
        count_fail("memory is short");
    }
    for (size_t peer = 0; peer < PEERS; peer++) {
        if (groups_init(&work->groups[peer], alloc_system(), profile, LIMIT) != 0) {
            count_fail("memory is short");
        }
        add_filters(work, &work->groups[peer], peer * STORED_BEFORE, STORED_BEFORE);
    }
}

/* The answer of hearsayd, as daemon/handler/summary.c makes it. */
static void encode_groups(struct summary_work *work, const struct groups *groups)
{
    static uint8_t unions[GROUPS_MAX][PROFILE_BYTES_MAX];
    struct hearsay_summary_group list[GROUPS_MAX];
    const struct profile *profile = &work->filters.profile;
    uint32_t bits = profile->bits;
    struct hearsay_response response = {.id = 1, .kind = HEARSAY_RESPONSE_SUMMARIZED};

    for (size_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->list[i];

        bloom_store(group->filter, bits, unions[i]);
        list[i] = (struct hearsay_summary_group){.union_filter = {unions[i], bloom_bytes(bits)},
                                                 .least_count = profile->section_count,
                                                 .most_count = profile->section_count,
                                                 .count = group->count,
                                                 .newest_ms = group->newest_ms};
        for (uint32_t s = 0; s < profile->section_count; s++) {
            list[i].least[s] = group->ranges[s].least;
            list[i].most[s] = group->ranges[s].most;
        }
    }
    response.summarized.union_filter = list[0].union_filter;
    response.summarized.cardinality_min = 1;
    response.summarized.cardinality_max = bits;
    response.summarized.count = groups->came;
    response.summarized.groups = list;
    response.summarized.group_count = groups->count;
    bytes_consume(&work->frame, work->frame.count);
    if (codec_encode_response(&response, LIMIT_FRAME_BYTES_DEFAULT, &work->frame) != 0) {
        count_fail("a summary cannot be encoded");
    }
}

static void learn_groups(struct summary_work *work, uint32_t peer)
{
    static uint64_t filters[GROUPS_MAX * PROFILE_WORDS_MAX];
    struct group groups[GROUPS_MAX];
    struct hearsay_response response;
    struct msg_error error;
    uint32_t bits = work->filters.profile.bits;
    size_t words = work->filters.filter_words;

    arena_reset(&work->arena);
    if (codec_decode_response(work->frame.data + LIMIT_FRAME_HEADER_BYTES,
                              work->frame.count - LIMIT_FRAME_HEADER_BYTES, &work->arena, &response,
                              &error) != 0) {
        count_fail("a summary cannot be decoded");
    }
    const struct hearsay_summarized *got = &response.summarized;
    for (size_t i = 0; i < got->group_count; i++) {
        const struct hearsay_summary_group *from = &got->groups[i];

        if (bloom_load(filters + i * words, bits, from->union_filter.data,
                       from->union_filter.count) != 0) {
            count_fail("a group has another profile");
        }
        groups[i] =
            (struct group){.filter = filters + i * words, .count = 1, .newest_ms = from->newest_ms};
        for (uint32_t s = 0; s < from->least_count; s++) {
            groups[i].ranges[s] =
                (struct group_range){(uint16_t)from->least[s], (uint16_t)from->most[s]};
        }
    }
    struct hood_word word = {.seq = 1,
                             .newest_ms = INT64_MIN,
                             .is_full = true,
                             .groups = groups,
                             .group_count = (uint32_t)got->group_count};
    if (hood_learn(work->hood, peer, &word, 1) != 0) {
        count_fail("a summary was not taken in");
    }
}

void count_summary(const struct count_options *options)
{
    static struct summary_work work;

    (void)options;
    prepare_work(&work);
    count_begin();
    for (uint32_t peer = 0; peer < PEERS; peer++) {
        add_filters(&work, &work.groups[peer], PEERS * STORED_BEFORE + peer * JOINING, JOINING);
        encode_groups(&work, &work.groups[peer]);
        learn_groups(&work, peer);
    }
    count_end(PEERS);
}
