/* SPDX-License-Identifier: Apache-2.0 */
/* sim_watch: see sim_world.h, and "watch" in docs/protocol.md. */
#include <stdlib.h>
#include <string.h>

#include "daemon/system/list.h"
#include "daemon/watch/inner.h"
#include "tests/sim/sim_world.h"

static void add_entry(struct w_watch *watch, uint32_t message, int64_t seq)
{
    SIM_CHECK(watch->entry_count < W_ENTRIES);
    watch->entries[watch->entry_count++] = (struct w_entry){.message = message, .seq = seq};
}

static bool fits(const struct world *world, const struct w_watch *watch, uint32_t message)
{
    struct m_result result;

    return m_fits(&world->model, &watch->query, message, &result);
}

void watches_begin(struct world *world, struct w_request *request, const struct w_expected *answer)
{
    struct w_watch *watch = calloc(1, sizeof(*watch));

    SIM_CHECK(watch != NULL && world->watch_count < W_WATCHES);
    world->watches[world->watch_count++] = watch;
    watch->client = request->client;
    watch->session = request->session;
    watch->id = answer->watch_id;
    watch->query = request->query;
    watch->live_after = (int64_t)answer->seq;
    watch->start =
        request->after_seq != UINT64_MAX ? (int64_t)request->after_seq : watch->live_after;
    watch->interest = request->interest;
    for (uint32_t i = 0; i < world->model.message_count; i++) {
        const struct m_message *message = &world->model.messages[i];
        if (m_visible(&world->model, message) && message->seq > watch->start &&
            message->seq <= watch->live_after && fits(world, watch, i)) {
            add_entry(watch, i, message->seq);
        }
    }
}

void watches_end_session(struct world *world, struct w_client *client)
{
    for (uint32_t i = 0; i < world->watch_count; i++) {
        struct w_watch *watch = world->watches[i];
        if (watch->client == client && watch->session == client->session) {
            watch->is_over = true;
        }
    }
}

void watches_message(struct world *world, uint32_t message, int64_t seq)
{
    for (uint32_t i = 0; i < world->watch_count; i++) {
        struct w_watch *watch = world->watches[i];
        if (!watch->is_over && fits(world, watch, message)) {
            add_entry(watch, message, seq);
        }
    }
}

/* What is hidden is not pushed. When it is restored before its turn, it may be pushed under its
 * earlier number, too. */
void watches_hidden(struct world *world, uint32_t message)
{
    for (uint32_t i = 0; i < world->watch_count; i++) {
        struct w_watch *watch = world->watches[i];
        for (uint32_t e = 0; e < watch->entry_count && !watch->is_over; e++) {
            watch->entries[e].may_be_missing |= watch->entries[e].message == message;
        }
    }
}

static struct w_watch *find_watch(struct world *world, const struct w_client *client, uint64_t id)
{
    for (uint32_t i = 0; i < world->watch_count; i++) {
        struct w_watch *watch = world->watches[i];
        if (watch->client == client && watch->session == client->session && watch->id == id) {
            return watch;
        }
    }
    return NULL;
}

/* Those before it in the order have been pushed, or have gone. */
static void check_none_missing(const struct world *world, const struct w_watch *watch, int64_t seq)
{
    for (uint32_t i = 0; i < watch->entry_count; i++) {
        const struct w_entry *entry = &watch->entries[i];
        SIM_EXPECT(entry->pushed || entry->may_be_missing || entry->seq >= seq ||
                       !m_visible(&world->model, &world->model.messages[entry->message]),
                   "watch %llu is pushed seq %lld before seq %lld", (unsigned long long)watch->id,
                   (long long)seq, (long long)entry->seq);
    }
}

static struct w_entry *entry_of(struct world *world, struct w_watch *watch,
                                const struct hearsay_match *match, bool pushed)
{
    const int64_t seq = (int64_t)match->seq;

    for (uint32_t i = 0; i < watch->entry_count; i++) {
        struct w_entry *entry = &watch->entries[i];
        if (entry->pushed == pushed && !entry->got && entry->seq == seq &&
            memcmp(world->model.messages[entry->message].id, match->result.id.data,
                   MESSAGE_ID_BYTES) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* At the moment when the server sends it. */
void watches_pushed(struct world *world, struct w_client *client, const struct hearsay_match *match)
{
    struct w_watch *watch = find_watch(world, client, match->watch_id);

    SIM_EXPECT(watch != NULL && !watch->is_over, "a push for a watch that there is not");
    struct w_entry *entry = entry_of(world, watch, match, false);
    SIM_EXPECT(entry != NULL, "seq %llu is pushed, and does not fit, or was pushed before",
               (unsigned long long)match->seq);
    SIM_EXPECT(m_visible(&world->model, &world->model.messages[entry->message]),
               "seq %llu is pushed, and has gone", (unsigned long long)match->seq);
    SIM_EXPECT((int64_t)match->seq > watch->last_seq, "seq %llu is pushed after seq %lld",
               (unsigned long long)match->seq, (long long)watch->last_seq);
    check_none_missing(world, watch, (int64_t)match->seq);
    watch->last_seq = (int64_t)match->seq;
    entry->pushed = true;
}

static void check_counts(const struct world *world, const struct w_watch *watch, uint32_t number,
                         const struct hearsay_result *result)
{
    const struct m_query *query = &watch->query;
    struct m_result best;
    bool found = false;

    SIM_CHECK(m_fits(&world->model, query, number, &best));
    found = result->intersection_count == best.both && result->union_count == best.either;
    /* of parts that are equally near, any */
    for (uint32_t p = 0; p < query->part_count && !found; p++) {
        struct m_query one = *query;
        struct m_result other;
        one.parts[0] = query->parts[p];
        one.part_count = 1;
        found = m_fits(&world->model, &one, number, &other) &&
                result->intersection_count == other.both && result->union_count == other.either &&
                (uint64_t)other.both * best.either == (uint64_t)best.both * other.either;
    }
    SIM_EXPECT(found, "a match with other counts");
}

void watches_got(struct world *world, struct w_client *client, const struct hearsay_match *match)
{
    struct w_watch *watch = find_watch(world, client, match->watch_id);
    struct w_entry *entry = watch == NULL ? NULL : entry_of(world, watch, match, true);

    SIM_EXPECT(entry != NULL, "a match that was not pushed");
    const struct m_message *message = &world->model.messages[entry->message];
    const struct hearsay_result *result = &match->result;
    entry->got = true;
    SIM_EQUAL(result->deposited_ms, message->deposited_ms);
    SIM_EQUAL(result->expires_ms, message->expires_ms);
    SIM_EQUAL(result->epoch, message->epoch);
    SIM_EQUAL(result->distance_ppm,
              m_distance_ppm(result->intersection_count, result->union_count));
    check_counts(world, watch, entry->message, result);
    SIM_CHECK((result->media_type.text != NULL) <= watch->query.with_payload);
    if (result->media_type.text != NULL) {
        SIM_EQUAL(result->payload.count, m_payload_bytes(message->payload));
        SIM_CHECK(result->payload.count == 0 ||
                  memcmp(result->payload.data, m_payload_text(message->payload),
                         result->payload.count) == 0);
    }
    struct w_interest *interest = watch->interest;
    if (interest != NULL && interest->watch == watch) {
        uint8_t *seen = &interest->seen[entry->message / 8];
        const uint8_t bit = (uint8_t)(1U << entry->message % 8);
        SIM_EXPECT((*seen & bit) == 0 || message->was_hidden,
                   "somebody who watches is told of a message twice");
        SIM_EXPECT((int64_t)match->seq > interest->last_seq,
                   "somebody who watches is told of a number twice");
        *seen |= bit;
        interest->last_seq = (int64_t)match->seq;
    }
    world->matches++;
}

/* Whether it still catches up, for want of tokens: nothing else keeps it when all is quiet. */
static bool waits_for_tokens(struct world *world, const struct w_watch *watch)
{
    const struct watch_catch *catch;

    DL_FOREACH (world->server.service->watch->paused, catch) {
        if (catch->watch->number == watch->id) {
            SIM_EXPECT(!m_may_read_page(&world->model, watch->client->sender),
                       "watch %llu of client %u does not catch up", (unsigned long long)watch->id,
                       watch->client->number);
            return true;
        }
    }
    return false;
}

void watches_check_all_got(struct world *world)
{
    for (uint32_t i = 0; i < world->watch_count; i++) {
        const struct w_watch *watch = world->watches[i];
        /* to who has sent its end what was asked is answered, and nothing is pushed any more */
        const bool is_over =
            watch->is_over || watch->client->stream.end_told || waits_for_tokens(world, watch);
        for (uint32_t e = 0; e < watch->entry_count && !is_over; e++) {
            const struct w_entry *entry = &watch->entries[e];
            const struct m_message *message = &world->model.messages[entry->message];
            SIM_EXPECT(entry->got || (!entry->pushed && (entry->may_be_missing ||
                                                         !m_visible(&world->model, message))),
                       "watch %llu of client %u was not told of seq %lld (message %u)",
                       (unsigned long long)watch->id, watch->client->number, (long long)entry->seq,
                       entry->message);
        }
    }
}
