/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "proto/codec/letter.h"

struct round {
    struct circle *circle;
    const struct round_events *events;
    void *context;
    uint64_t ask_id;
    size_t frame_bytes;
    struct bytes copy;          /* of the query, as a letter */
    struct arena arena;         /* of `asked` */
    struct hearsay_query asked; /* borrows from `copy` and `arena` */
    struct hood_query hood_query;
    struct index_query query;
    struct index_part parts[LIMIT_PARTS];
    struct scalable_slice slices[LIMIT_SLICES];
    uint64_t *filters;          /* owned: of the parts, and what they contain */
    struct hood_search *search; /* owned; NULL before the first wave */
    enum {
        ROUND_NOT_SENT,
        ROUND_BRIEFLY,
        ROUND_AWAITED
    } peers[CIRCLE_PEERS_MAX]; /* of this wave */
    uint32_t awaited;
    uint32_t briefly;      /* awaited for ROUND_SILENT_MS only */
    int64_t brief_ends_ms; /* monotonic */
    uint32_t waves;
    int64_t wave_ends_ms; /* monotonic, as ends_ms */
    int64_t ends_ms;
    /* time was over before all were asked, not all neighbours are known yet, there are more than
     * the circle has room for, or the answer has not all results */
    bool is_partial;
    int64_t known_ms; /* by the clock of the words: all neighbours of that time are known */
    bool is_capped;   /* a neighbour left out messages of one sender */
    struct kept *kept;
    size_t payload_bytes;
};

void *round_owner(const struct round *round)
{
    return round->context;
}

uint64_t round_ask_id(const struct round *round)
{
    return round->ask_id;
}

struct circle *round_circle(const struct round *round)
{
    return round->circle;
}

uint32_t round_waves(const struct round *round)
{
    return round->waves;
}

/* --- the query -------------------------------------------------------------------------------- */

/* Copies the query by writing it as a letter and reading it again. False: no memory. */
static bool copy_query(struct round *round, const struct hearsay_query *query)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PEER_QUERY, .peer_query = {.query = *query}};
    struct msg_error error;

    letter.peer_query.query.host = (struct hearsay_text){NULL, 0};
    if (letter_encode(&letter, &round->copy) != 0 ||
        letter_decode(round->copy.data, round->copy.count, &round->arena, &letter, &error) != 0) {
        return false;
    }
    round->asked = letter.peer_query.query;
    return true;
}

/* Reads the filters of the parts. False: one does not fit the profile, or no memory. */
static bool load_parts(struct round *round)
{
    const struct hearsay_query *asked = &round->asked;
    size_t words = bloom_words(round->circle->profile.bits);
    uint32_t bits = round->circle->profile.bits;

    round->filters = calloc(2 * asked->part_count * words, sizeof(*round->filters));
    if (round->filters == NULL) {
        return false;
    }
    for (size_t i = 0; i < asked->part_count; i++) {
        const struct hearsay_query_part *part = &asked->parts[i];
        uint64_t *filter = round->filters + 2 * i * words;

        round->parts[i].filter = filter;
        if (part->epoch != 0 ||
            bloom_load(filter, bits, part->filter.data, part->filter.count) != 0) {
            return false;
        }
        if (part->contains.count > 0) {
            round->parts[i].contains = filter + words;
            if (bloom_load(filter + words, bits, part->contains.data, part->contains.count) != 0) {
                return false;
            }
        }
    }
    return true;
}

static void fill_query(struct round *round)
{
    const struct hearsay_query *asked = &round->asked;

    for (size_t i = 0; i < asked->exclude_count; i++) {
        const struct hearsay_slice *slice = &asked->exclude[i];

        round->slices[i] = (struct scalable_slice){.bits = slice->bits.data,
                                                   .byte_count = (uint32_t)slice->bits.count,
                                                   .hashes = slice->hashes,
                                                   .seed = slice->seed};
    }
    round->query = (struct index_query){
        .parts = round->parts,
        .part_count = (uint32_t)asked->part_count,
        .k = asked->k,
        .max_distance_ppm = asked->max_distance_ppm,
        .since_ms = asked->since_ms,
        .until_ms = asked->until_ms,
        .metric = asked->metric == HEARSAY_METRIC_PHI ? INDEX_METRIC_PHI : INDEX_METRIC_BITS,
        .order = asked->order == HEARSAY_ORDER_NEWEST ? INDEX_ORDER_NEWEST : INDEX_ORDER_SIMILARITY,
        .exclude = round->slices,
        .exclude_count = (uint32_t)asked->exclude_count,
    };
}

struct round *round_new(struct circle *circle, const struct hearsay_ask *ask, size_t frame_bytes,
                        const struct round_events *events, void *context, int64_t monotonic_ms)
{
    struct round *round = calloc(1, sizeof(*round));
    uint32_t wait_ms = ask->query.wait_ms;

    if (round == NULL) {
        return NULL;
    }
    bytes_init(&round->copy, alloc_system());
    arena_init(&round->arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    round->circle = circle;
    round->events = events;
    round->context = context;
    round->ask_id = ask->ask_id;
    round->frame_bytes = frame_bytes;
    round->ends_ms =
        monotonic_ms + (wait_ms > 2 * ROUND_MARGIN_MS ? wait_ms - ROUND_MARGIN_MS : wait_ms / 2);
    if (ask->query.part_count == 0 || ask->query.part_count > LIMIT_PARTS ||
        ask->query.exclude_count > LIMIT_SLICES || ask->query.k == 0 ||
        ask->query.k > LIMIT_RESULTS || !copy_query(round, &ask->query) || !load_parts(round)) {
        round_free(round);
        return NULL;
    }
    fill_query(round);
    round->hood_query = (struct hood_query){
        .query = &round->query,
        .floor = similarity_of_floor(round->asked.floor),
        .peers_max = ask->peers_max,
        .max_staleness_ms = round->asked.max_staleness_ms,
    };
    return round;
}

void round_free(struct round *round)
{
    if (round == NULL) {
        return;
    }
    hood_search_free(round->search);
    while (round->kept != NULL) {
        struct kept *next = round->kept->next;

        free(round->kept);
        round->kept = next;
    }
    bytes_deinit(&round->copy);
    arena_deinit(&round->arena);
    free(round->filters);
    free(round);
}

/* --- the end ---------------------------------------------------------------------------------- */

static const struct kept *find_kept(const struct round *round, uint32_t peer)
{
    const struct kept *kept = round->kept;

    while (kept != NULL && kept->peer != peer) {
        kept = kept->next;
    }
    return kept;
}

/* The result without its payload. */
static struct hearsay_result bare_result(const struct hearsay_result *result)
{
    struct hearsay_result bare = *result;

    if (bare.media_type.text != NULL || bare.payload.data != NULL) {
        bare.media_type = (struct hearsay_text){NULL, 0};
        bare.payload = (struct hearsay_bytes){NULL, 0};
        bare.payload_omitted = true;
    }
    return bare;
}

/*
 * Makes the results fit the frame: leaves out the farthest results if they do not fit even without
 * payloads, and then the payloads that do not fit, nearest first. Returns how many results are
 * left.
 */
static uint32_t fit_frame(const struct round *round, struct hearsay_result *results, uint32_t count)
{
    size_t used = ROUND_REST_BYTES;
    uint32_t fitting = 0;

    for (; fitting < count; fitting++) {
        struct hearsay_result bare = bare_result(&results[fitting]);
        size_t bytes = codec_result_bytes(&bare);

        if (used + bytes > round->frame_bytes) {
            break;
        }
        used += bytes;
    }
    for (uint32_t i = 0; i < fitting; i++) {
        struct hearsay_result bare = bare_result(&results[i]);
        size_t whole = used - codec_result_bytes(&bare) + codec_result_bytes(&results[i]);

        if (whole <= round->frame_bytes) {
            used = whole;
        } else {
            results[i] = bare;
        }
    }
    return fitting;
}

static uint32_t gather_results(struct round *round, const struct nearest_candidate *found,
                               uint32_t count, struct hearsay_result *out)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct kept *kept = find_kept(round, found[i].source);

        if (kept != NULL && found[i].item.bytes < kept->count) {
            out[used++] = kept->results[found[i].item.bytes];
        }
    }
    uint32_t fitting = fit_frame(round, out, used);

    round->is_partial = round->is_partial || fitting < used;
    return fitting;
}

static void finish_round(struct round *round)
{
    struct hood_outcome outcome;
    uint32_t count = 0;
    const struct nearest_candidate *found = hood_search_results(round->search, &count, &outcome);
    struct hearsay_result *list = calloc((size_t)count + 1, sizeof(*list));

    uint32_t skipped = round->circle->skipped_count;

    round->awaited = round->briefly = 0;
    round->is_partial = round->is_partial || skipped > 0;
    memset(round->peers, 0, sizeof(round->peers));
    if (list == NULL) {
        round->events->done(round->context, round, NULL);
        return;
    }
    count = gather_results(round, found, count, list);
    struct hearsay_results results = {
        .results = list,
        .result_count = count,
        .exact = outcome.is_complete && !round->is_partial,
        .complete = outcome.is_complete && !round->is_partial,
        .capped = round->is_capped,
        .peers = outcome.peers + skipped,
        .peers_asked = outcome.peers_asked,
        .peers_silent = outcome.peers_silent,
        .peers_other = round->circle->other_count,
        .as_of_ms = outcome.as_of_ms < round->known_ms ? outcome.as_of_ms : round->known_ms,
        .peers_skipped = skipped,
    };
    round->events->done(round->context, round, &results); /* frees the round */
    free(list);
}

/* --- waves ------------------------------------------------------------------------------------ */

/* Writes the query with the floor of now. False: no memory. */
static bool write_letter(const struct round *round, struct bytes *out)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PEER_QUERY,
                                .peer_query = {.query = round->asked}};
    struct hearsay_query *query = &letter.peer_query.query;

    query->wait_ms = LIMIT_WAIT_MS_DEFAULT; /* as if absent: the neighbour reads none of these */
    query->max_staleness_ms = UINT64_MAX;
    query->floor = similarity_floor(hood_search_floor(round->search));
    return letter_encode(&letter, out) == 0;
}

/* Whether the wave waits for the neighbour as long as for any other. */
static bool is_awaited(const struct round *round, uint32_t peer, int64_t monotonic_ms)
{
    int64_t silent_ms = round->circle->peers[peer].silent_ms;

    return silent_ms == 0 || monotonic_ms - silent_ms >= CIRCLE_SILENT_MS;
}

static void send_wave(struct round *round, const uint32_t *peers, uint32_t count,
                      int64_t monotonic_ms)
{
    struct bytes letter;

    bytes_init(&letter, alloc_system());
    bool is_written = write_letter(round, &letter);
    for (uint32_t i = 0; i < count && is_written; i++) {
        if (round->events->send(round->context, round, peers[i], letter.data, letter.count)) {
            bool waits = is_awaited(round, peers[i], monotonic_ms);

            round->peers[peers[i]] = waits ? ROUND_AWAITED : ROUND_BRIEFLY;
            round->awaited += waits ? 1 : 0;
            round->briefly += waits ? 0 : 1;
        }
    }
    bytes_deinit(&letter);
}

/* Whether the wave goes on at this time. If only those are left that were silent before, it soon
 * ends. */
static bool is_waiting(struct round *round, int64_t monotonic_ms)
{
    if (round->awaited == 0 && round->briefly > 0 && monotonic_ms < round->brief_ends_ms) {
        round->wave_ends_ms = round->brief_ends_ms;
        return true;
    }
    return round->awaited > 0;
}

/* Sends waves until one of them has somebody to wait for, or ends the round. */
static void go_on(struct round *round, int64_t monotonic_ms)
{
    const uint32_t *peers = NULL;
    uint32_t count;

    round->awaited = round->briefly = 0;
    memset(round->peers, 0, sizeof(round->peers));
    while ((count = hood_search_next(round->search, &peers)) > 0) {
        if (monotonic_ms >= round->ends_ms) {
            round->is_partial = true;
            break;
        }
        round->waves++;
        round->wave_ends_ms = monotonic_ms + ROUND_WAVE_MS < round->ends_ms
                                  ? monotonic_ms + ROUND_WAVE_MS
                                  : round->ends_ms;
        round->brief_ends_ms = monotonic_ms + ROUND_SILENT_MS < round->wave_ends_ms
                                   ? monotonic_ms + ROUND_SILENT_MS
                                   : round->wave_ends_ms;
        send_wave(round, peers, count, monotonic_ms);
        if (is_waiting(round, monotonic_ms)) {
            return;
        }
    }
    finish_round(round);
}

void round_begin(struct round *round, int64_t now_ms, int64_t monotonic_ms)
{
    int64_t age_ms = circle_age_ms(round->circle, monotonic_ms);

    round->is_partial =
        age_ms == INT64_MAX || (uint64_t)age_ms > round->hood_query.max_staleness_ms;
    round->hood_query.now_ms = now_ms;
    round->known_ms = round->is_partial ? now_ms : now_ms - age_ms;
    if (hood_search_new(round->circle->hood, &round->hood_query, &round->search) != 0) {
        round->events->done(round->context, round, NULL);
        return;
    }
    go_on(round, monotonic_ms);
}

static void keep_answer(struct round *round, uint32_t peer, const struct msg_peer_results *answer)
{
    const char *host = round->circle->peers[peer].host;
    struct kept *kept = kept_new(&answer->results, round->query.k, round->circle->profile.bits,
                                 peer, host, ROUND_KEPT_BYTES - round->payload_bytes);

    if (kept == NULL) {
        return; /* the neighbour counts as silent */
    }
    kept->next = round->kept;
    round->kept = kept;
    round->payload_bytes += kept->payload_bytes;
    struct hood_answer said = {.seq = answer->seq,
                               .is_complete = answer->results.complete,
                               .found = kept->found,
                               .found_count = kept->count};

    memcpy(said.store_id, answer->store_id.data, sizeof(said.store_id));
    round->is_capped = round->is_capped || answer->results.capped;
    (void)hood_search_answer(round->search, peer, &said);
}

void round_take(struct round *round, uint32_t peer, const struct msg_peer_results *answer,
                int64_t monotonic_ms)
{
    if (peer >= CIRCLE_PEERS_MAX || round->peers[peer] == ROUND_NOT_SENT) {
        return;
    }
    round->awaited -= round->peers[peer] == ROUND_AWAITED ? 1 : 0;
    round->briefly -= round->peers[peer] == ROUND_BRIEFLY ? 1 : 0;
    round->peers[peer] = ROUND_NOT_SENT;
    round->circle->peers[peer].silent_ms = 0;
    if (answer != NULL && answer->has_results && round->circle->peers[peer].host[0] != '\0') {
        keep_answer(round, peer, answer);
    }
    if (!is_waiting(round, monotonic_ms)) {
        go_on(round, monotonic_ms);
    }
}

int64_t round_due_ms(const struct round *round)
{
    return round->search != NULL ? round->wave_ends_ms : INT64_MAX;
}

void round_tick(struct round *round, int64_t monotonic_ms)
{
    if (round->search != NULL && monotonic_ms >= round->wave_ends_ms) {
        for (uint32_t i = 0; i < CIRCLE_PEERS_MAX; i++) {
            if (round->peers[i] == ROUND_AWAITED) {
                round->circle->peers[i].silent_ms = monotonic_ms;
            }
        }
        go_on(round, monotonic_ms);
    }
}
