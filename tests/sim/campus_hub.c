/* SPDX-License-Identifier: Apache-2.0 */
/*
 * campus_hub: words of hosts on their way to askers. They arrive late, in the order of each host;
 * some do not arrive. The groups of a word go through the codec.
 */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "tests/lib/group_of_all.h"
#include "tests/sim/campus.h"

enum { DELAY_MS = 1500, LOST_PER_MILLE = 2, FILTER_BYTES = 8 * WORDS };

/* A word on its way, and the frame with its groups. */
struct word_sent {
    struct word_sent *next;
    uint32_t host;
    int64_t due_ms;
    struct hood_word word; /* without groups */
    struct bytes frame;    /* no bytes: there are no groups */
};

static struct word_sent *first_sent;
static struct word_sent **last_sent = &first_sent;
static int64_t newest_due_ms;

/* --- sending ---------------------------------------------------------------------------------- */

static void encode_groups(const struct group *groups, uint32_t count, struct bytes *out)
{
    static uint8_t filters[HOOD_GROUPS_MAX][FILTER_BYTES];
    struct hearsay_summary_group list[HOOD_GROUPS_MAX];
    static const uint8_t nothing[FILTER_BYTES];
    const struct hearsay_response response = {
        .id = 1,
        .kind = HEARSAY_RESPONSE_SUMMARIZED,
        .summarized = {
            .union_filter = {nothing, FILTER_BYTES}, .groups = list, .group_count = count}};

    for (uint32_t i = 0; i < count; i++) {
        bloom_store(groups[i].filter, campus.profile.bits, filters[i]);
        list[i] = (struct hearsay_summary_group){.union_filter = {filters[i], FILTER_BYTES},
                                                 .least_count = campus.profile.section_count,
                                                 .most_count = campus.profile.section_count,
                                                 .count = groups[i].count,
                                                 .newest_ms = groups[i].newest_ms};
        for (uint32_t s = 0; s < campus.profile.section_count; s++) {
            list[i].least[s] = groups[i].ranges[s].least;
            list[i].most[s] = groups[i].ranges[s].most;
        }
    }
    SIM_CHECK(codec_encode_response(&response, LIMIT_FRAME_BYTES_MAX, out) == 0);
    campus.sums.bytes += out->count;
}

/* A liar's summary claims everything. */
static void claim_everything(struct group *out)
{
    static uint64_t ones[WORDS];

    memset(ones, 0xff, sizeof(ones));
    *out = group_of_all(&campus.profile, ones, INT64_MAX);
}

/* The hub keeps the order of each sender; here it keeps the order of all. */
static void send_word(uint32_t number, bool is_full, const struct group *groups, uint32_t count)
{
    struct c_host *host = &campus.hosts[number];
    struct word_sent *sent = calloc(1, sizeof(*sent));
    int64_t due_ms = campus.now_ms + 1 + (int64_t)rng_below(&campus.rng, DELAY_MS);

    SIM_CHECK(sent != NULL);
    newest_due_ms = due_ms > newest_due_ms ? due_ms : newest_due_ms;
    *sent = (struct word_sent){.host = number,
                               .due_ms = newest_due_ms,
                               .word = {.seq = host->seq,
                                        .after = host->told_seq,
                                        .as_of_ms = host_now_ms(host),
                                        .newest_ms = is_full ? INT64_MIN : host->covered_ms,
                                        .is_full = is_full}};
    memcpy(sent->word.store_id, host->store_id, sizeof(host->store_id));
    bytes_init(&sent->frame, alloc_system());
    if (count > 0) {
        encode_groups(groups, count, &sent->frame);
    }
    host->told_seq = host->seq;
    host->covered_ms = INT64_MIN;
    if (host_is_cut(host)) { /* what is sent during a cut does not come later */
        bytes_deinit(&sent->frame);
        free(sent);
        return;
    }
    *last_sent = sent;
    last_sent = &sent->next;
}

static void remember_told(struct c_host *host, const struct group *group)
{
    uint64_t *filter = host->told_filters[host->told_count];
    struct group *told = &host->told[host->told_count++];

    *told = *group;
    memcpy(filter, group->filter, WORDS * sizeof(*filter));
    told->filter = filter;
}

static void tell_all(uint32_t number)
{
    struct c_host *host = &campus.hosts[number];
    struct group everything;

    host->told_count = 0;
    for (uint32_t i = 0; i < host->groups.count; i++) {
        remember_told(host, &host->groups.list[i]);
    }
    host->deltas = 0;
    host->has_to_tell = false;
    if (host->lie == LIE_ALL_ONES) {
        claim_everything(&everything);
        send_word(number, true, &everything, 1);
    } else {
        send_word(number, true, host->told, host->told_count);
    }
    campus.sums.full++;
}

void hub_tell(uint32_t number, bool is_keepalive_due)
{
    struct c_host *host = &campus.hosts[number];

    if (host->has_to_tell || host->deltas >= DELTAS_MAX) {
        tell_all(number);
    } else if (is_keepalive_due) {
        send_word(number, false, NULL, 0);
        campus.sums.keepalives++;
    }
}

void hub_tell_message(uint32_t number, const struct c_message *message)
{
    struct c_host *host = &campus.hosts[number];
    const struct group own = groups_one(&campus.profile, message->filter, message->deposited_ms);

    if (host->has_to_tell) {
        return;
    }
    if (groups_cover(host->told, host->told_count, &campus.profile, message->filter) ||
        (campus.fault == FAULT_DELTA && rng_chance(&campus.rng, 2))) {
        host->covered_ms =
            message->deposited_ms > host->covered_ms ? message->deposited_ms : host->covered_ms;
        campus.sums.covered++;
        return;
    }
    remember_told(host, &own);
    host->deltas++;
    send_word(number, false, &own, 1);
    campus.sums.deltas++;
}

/* --- arriving --------------------------------------------------------------------------------- */

/* What the asker must know now; whether its summary is void. */
static void hear_word(struct c_heard *heard, const struct hood_word *word)
{
    bool is_same =
        heard->is_known && memcmp(heard->store_id, word->store_id, sizeof(heard->store_id)) == 0;

    heard->is_met = true;
    if (!word->is_full && is_same && word->after != heard->seq && word->seq <= heard->seq) {
        return;
    }
    if (!word->is_full && (!is_same || word->after != heard->seq)) {
        heard->is_known = false;
        return;
    }
    heard->is_known = true;
    memcpy(heard->store_id, word->store_id, sizeof(heard->store_id));
    heard->seq = word->seq;
    heard->as_of_ms = word->as_of_ms < campus.now_ms ? word->as_of_ms : campus.now_ms;
}

static void deliver_to(struct c_asker *asker, uint32_t number, const struct hood_word *word)
{
    struct c_heard *heard = &asker->heard[number];

    if (asker->host == number) {
        return;
    }
    if (host_is_cut(&campus.hosts[asker->host]) || rng_below(&campus.rng, 1000) < LOST_PER_MILLE) {
        campus.sums.lost++;
        return;
    }
    campus.sums.delivered++;
    hear_word(heard, word);
    if (hood_learn(asker->hood, number, word, campus.now_ms) == HOOD_VOID) {
        campus.sums.voids++;
        campus.hosts[number].has_to_tell = true; /* it is asked for a full word */
    }
    SIM_EQUAL(hood_knows(asker->hood, number), heard->is_known);
}

static uint32_t decode_groups(const struct bytes *frame, struct arena *arena, struct group *out)
{
    static uint64_t filters[HOOD_GROUPS_MAX][WORDS];
    struct hearsay_response response;
    struct msg_error error;

    if (frame->count == 0) {
        return 0;
    }
    SIM_CHECK(codec_decode_response(frame->data + LIMIT_FRAME_HEADER_BYTES,
                                    frame->count - LIMIT_FRAME_HEADER_BYTES, arena, &response,
                                    &error) == 0);
    SIM_CHECK(response.summarized.group_count <= HOOD_GROUPS_MAX);
    for (size_t i = 0; i < response.summarized.group_count; i++) {
        const struct hearsay_summary_group *group = &response.summarized.groups[i];

        SIM_CHECK(bloom_load(filters[i], campus.profile.bits, group->union_filter.data,
                             group->union_filter.count) == 0);
        out[i] = (struct group){
            .filter = filters[i], .count = (uint32_t)group->count, .newest_ms = group->newest_ms};
        for (uint32_t s = 0; s < campus.profile.section_count; s++) {
            out[i].ranges[s] =
                (struct group_range){(uint16_t)group->least[s], (uint16_t)group->most[s]};
        }
    }
    return (uint32_t)response.summarized.group_count;
}

void hub_deliver(void)
{
    struct group groups[HOOD_GROUPS_MAX];
    struct arena arena;

    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    while (first_sent != NULL && first_sent->due_ms <= campus.now_ms) {
        struct word_sent *sent = first_sent;

        first_sent = sent->next;
        last_sent = first_sent == NULL ? &first_sent : last_sent;
        sent->word.groups = groups;
        sent->word.group_count = decode_groups(&sent->frame, &arena, groups);
        for (uint32_t a = 0; a < ASKERS; a++) {
            deliver_to(&campus.askers[a], sent->host, &sent->word);
        }
        arena_reset(&arena);
        bytes_deinit(&sent->frame);
        free(sent);
    }
    arena_deinit(&arena);
}

void hub_deinit(void)
{
    while (first_sent != NULL) {
        struct word_sent *sent = first_sent;

        first_sent = sent->next;
        bytes_deinit(&sent->frame);
        free(sent);
    }
    last_sent = &first_sent;
}
