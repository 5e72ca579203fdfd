/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ask: see sim_world.h. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "proto/codec/codec.h"
#include "tests/sim/sim_world.h"

enum { IDS = 40, PAYLOADS = 9, TOKENS = 2 };

/* --- material --------------------------------------------------------------------------------- */

/* The same few come again and again, also when their messages have gone. */
static void make_id(struct world *world, uint32_t host, uint8_t *out)
{
    const uint64_t number = rng_below(&world->rng, IDS) + IDS * host;
    const XXH128_hash_t hash = XXH3_128bits_withSeed(&number, sizeof(number), world->seed);

    memcpy(out, &hash, MESSAGE_ID_BYTES);
}

static void make_token(uint32_t number, uint8_t *out)
{
    memset(out, 0, LIMIT_TOKEN_BYTES);
    out[0] = (uint8_t)number;
}

static void flip_bits(struct world *world, uint32_t host, uint32_t most, uint8_t *filter)
{
    const uint32_t bits = world->config.hosts[host].profile.bits;

    for (uint32_t i = rng_below(&world->rng, most + 1); i > 0; i--) {
        const uint32_t bit = rng_below(&world->rng, bits);
        filter[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}

static void make_filter(struct world *world, uint32_t host, uint8_t *out)
{
    memcpy(out, world->contexts[host][rng_below(&world->rng, 8)], M_FILTER_BYTES);
    if (rng_chance(&world->rng, 70)) {
        flip_bits(world, host, 12, out);
    }
    if (rng_chance(&world->rng, 2)) {
        memset(out, rng_chance(&world->rng, 50) ? 0xff : 0, world->model.hosts[host].filter_bytes);
    }
}

/* Mostly the current one or the open one; sometimes one that is over, or never was. */
static uint64_t choose_epoch(struct world *world, uint32_t host)
{
    const struct m_host *own = &world->model.hosts[host];
    const uint32_t dice = rng_below(&world->rng, 100);

    if (dice < 3) {
        return 1 + rng_below(&world->rng, 1000);
    }
    if (own->epoch_count == 0 || dice < 50) {
        return 0;
    }
    if (own->current > 0 && dice < 80) {
        return own->epochs[own->current - 1].number;
    }
    return own->epochs[rng_below(&world->rng, own->epoch_count)].number;
}

static uint32_t choose_distance(struct world *world)
{
    return rng_chance(&world->rng, 60) ? LIMIT_DISTANCE_PPM
                                       : rng_below(&world->rng, LIMIT_DISTANCE_PPM + 1);
}

/* --- requests --------------------------------------------------------------------------------- */

struct w_request *client_request(struct world *world, struct w_client *client,
                                 enum hearsay_request_kind kind)
{
    struct w_request *request = calloc(1, sizeof(*request));

    SIM_CHECK(request != NULL && world->request_count < W_REQUESTS);
    world->requests[world->request_count++] = request;
    request->id = world->request_count;
    request->kind = kind;
    request->client = client;
    request->session = client->session;
    request->after_seq = UINT64_MAX;
    request->host = rng_below(&world->rng, 3) == 0;
    request->names_host = request->host > 0 || rng_chance(&world->rng, 30);
    request->unknown_host = rng_chance(&world->rng, 1);
    make_id(world, request->host, request->message_id);
    return request;
}

static struct hearsay_text text_of(const char *text)
{
    return text == NULL ? (struct hearsay_text){NULL, 0}
                        : (struct hearsay_text){text, strlen(text)};
}

static struct hearsay_text host_text(const struct world *world, const struct w_request *request)
{
    if (request->unknown_host) {
        return text_of("gamma");
    }
    return request->names_host ? text_of(world->config.hosts[request->host].name) : text_of(NULL);
}

static void fill_query(const struct world *world, const struct w_request *request,
                       struct hearsay_query_part *parts, struct hearsay_slice *slice,
                       struct hearsay_query *out)
{
    const struct m_query *query = &request->query;
    const uint32_t bytes = world->model.hosts[request->host].filter_bytes;

    *out = (struct hearsay_query){.host = host_text(world, request),
                                  .k = query->k,
                                  .parts = parts,
                                  .part_count = query->part_count,
                                  .max_distance_ppm = query->max_distance_ppm,
                                  .since_ms = query->since_ms,
                                  .until_ms = query->until_ms,
                                  .metric = HEARSAY_METRIC_BITS,
                                  .order = query->order,
                                  .scope = query->is_hood ? HEARSAY_SCOPE_HOOD : HEARSAY_SCOPE_HERE,
                                  .wait_ms = LIMIT_WAIT_MS_DEFAULT,
                                  .max_staleness_ms = UINT64_MAX,
                                  .with_payload = query->with_payload};
    for (uint32_t p = 0; p < query->part_count; p++) {
        parts[p] = (struct hearsay_query_part){.epoch = query->parts[p].epoch,
                                               .filter = {query->parts[p].filter, bytes}};
        if (query->parts[p].has_contains) {
            parts[p].contains = (struct hearsay_bytes){query->parts[p].contains, bytes};
        }
    }
    if (query->exclude_bytes > 0) {
        *slice = (struct hearsay_slice){.bits = {query->exclude, query->exclude_bytes},
                                        .hashes = query->exclude_hashes,
                                        .seed = query->exclude_seed};
        out->exclude = slice;
        out->exclude_count = 1;
    }
}

static void put_deposit(const struct world *world, struct w_request *request,
                        struct hearsay_request *out)
{
    static uint8_t hash[LIMIT_HASH_BYTES];
    static uint8_t payload[512];
    uint8_t token[LIMIT_TOKEN_BYTES];

    memcpy(payload, m_payload_text(request->payload), sizeof(payload));
    out->deposit = (struct hearsay_deposit){
        .host = host_text(world, request),
        .id = {request->message_id, MESSAGE_ID_BYTES},
        .epoch = request->epoch,
        .filter = {request->filter, request->filter_bytes},
        .media_type = text_of("text/plain"),
        .payload = {payload, m_payload_bytes(request->payload)},
        .has_ttl_s = request->has_ttl_s,
        .ttl_s = request->ttl_s,
        .reach_ppm = request->reach_ppm,
    };
    if (request->can_withdraw) {
        make_token(request->token, token);
        (void)crypto_generichash(hash, sizeof(hash), token, sizeof(token), NULL, 0);
        out->deposit.withdraw_hash = (struct hearsay_bytes){hash, sizeof(hash)};
    }
}

static void put_admin(const struct world *world, const struct w_request *request,
                      struct hearsay_request *out)
{
    const struct hearsay_bytes value = {request->rule.value,
                                        request->rule.is_payload
                                            ? LIMIT_HASH_BYTES
                                            : world->model.hosts[request->host].filter_bytes};

    const struct hearsay_bytes none = {NULL, 0};
    const struct hearsay_bytes hash = request->rule.is_payload ? value : none;
    const struct hearsay_bytes filter = request->rule.is_payload ? none : value;
    const struct hearsay_bytes id = {request->message_id, MESSAGE_ID_BYTES};
    const struct hearsay_text host = host_text(world, request);

    switch (request->kind) {
    case HEARSAY_REQUEST_STATS:
        out->stats.host = host;
        break;
    case HEARSAY_REQUEST_REMOVE:
        out->remove = (struct hearsay_remove){.host = host, .id = id, .ban = request->ban};
        break;
    case HEARSAY_REQUEST_RESTORE:
        out->restore = (struct hearsay_restore){.host = host, .id = id};
        break;
    case HEARSAY_REQUEST_REPORTED:
        out->reported = (struct hearsay_reported){
            .host = host, .limit = request->number, .pending = request->pending};
        break;
    case HEARSAY_REQUEST_BAN:
        out->ban = (struct hearsay_ban){host, hash, filter, request->rule.max_distance_ppm};
        break;
    case HEARSAY_REQUEST_UNBAN:
        out->unban = (struct hearsay_unban){host, hash, filter};
        break;
    case HEARSAY_REQUEST_BANS:
        out->bans = (struct hearsay_bans){host, request->number};
        break;
    case HEARSAY_REQUEST_ACCEPT:
        out->accept = (struct hearsay_accept){host, text_of(request->word)};
        break;
    case HEARSAY_REQUEST_BACKUP:
        out->backup.path = text_of(request->word);
        break;
    case HEARSAY_REQUEST_LOG_LEVEL:
        out->log_level.level = text_of(request->word);
        break;
    default: /* it has no fields */
        break;
    }
}

/* Encodes it behind what the client sends. */
void client_put(struct world *world, struct w_client *client, struct w_request *request)
{
    static const char reasons[][8] = {"", "spam", "rude", "old"};
    struct hearsay_request out = {.id = request->id, .kind = request->kind};
    struct hearsay_query_part parts[M_PARTS];
    struct hearsay_slice slice;
    uint8_t token[LIMIT_TOKEN_BYTES];
    uint8_t cursor[8];

    if (request->kind == HEARSAY_REQUEST_HELLO) {
        out.hello = (struct hearsay_hello){.versions = {1}, .version_count = 1};
        if (client->has_token) {
            request->has_shown = true;
            memcpy(request->shown, client->token, sizeof(client->token));
            out.hello.resume_token = (struct hearsay_bytes){client->token, sizeof(client->token)};
        }
    } else if (request->kind == HEARSAY_REQUEST_DEPOSIT) {
        put_deposit(world, request, &out);
    } else if (request->kind == HEARSAY_REQUEST_QUERY) {
        fill_query(world, request, parts, &slice, &out.query);
    } else if (request->kind == HEARSAY_REQUEST_WATCH) {
        fill_query(world, request, parts, &slice, &out.watch.query);
        out.watch.after_seq = request->after_seq;
    } else if (request->kind == HEARSAY_REQUEST_UNWATCH) {
        out.unwatch.watch_id = request->watch_id;
    } else if (request->kind == HEARSAY_REQUEST_WITHDRAW) {
        make_token(request->token, token);
        out.withdraw = (struct hearsay_withdraw){.host = host_text(world, request),
                                                 .id = {request->message_id, MESSAGE_ID_BYTES},
                                                 .token = {token, sizeof(token)}};
    } else if (request->kind == HEARSAY_REQUEST_GET) {
        out.get = (struct hearsay_get){.host = host_text(world, request),
                                       .id = {request->message_id, MESSAGE_ID_BYTES}};
    } else if (request->kind == HEARSAY_REQUEST_SUMMARY) {
        out.summary =
            (struct hearsay_summary){.host = host_text(world, request), .epoch = request->epoch};
    } else if (request->kind == HEARSAY_REQUEST_HERE) {
        out.here = (struct hearsay_here){.host = host_text(world, request)};
    } else if (request->kind == HEARSAY_REQUEST_REPORT) {
        out.report = (struct hearsay_report){.host = host_text(world, request),
                                             .kind = HEARSAY_REPORT_OTHER_KIND,
                                             .id = {request->message_id, MESSAGE_ID_BYTES}};
        if (request->reason > 0) {
            out.report.reason = text_of(reasons[request->reason]);
            out.report.kind =
                (enum hearsay_report_kind)(HEARSAY_REPORT_OTHER_KIND - request->reason);
        }
    } else if (request->kind == HEARSAY_REQUEST_EXPORT) {
        out.export_ =
            (struct hearsay_export){.host = host_text(world, request), .limit = request->number};
        for (unsigned i = 0; i < 8 && request->has_cursor; i++) {
            cursor[i] = (uint8_t)((uint64_t)request->cursor >> (8 * (7 - i)));
            out.export_.after = (struct hearsay_bytes){cursor, sizeof(cursor)};
        }
    } else {
        put_admin(world, request, &out);
    }
    SIM_CHECK(codec_encode_request(&out, LIMIT_FRAME_BYTES_MAX, &client->output) == 0);
}

/* --- at random -------------------------------------------------------------------------------- */

static void make_query(struct world *world, struct w_request *request)
{
    static const enum hearsay_order orders[8] = {HEARSAY_ORDER_SIMILARITY, HEARSAY_ORDER_SIMILARITY,
                                                 HEARSAY_ORDER_SIMILARITY, HEARSAY_ORDER_SIMILARITY,
                                                 HEARSAY_ORDER_TIME,       HEARSAY_ORDER_TIME,
                                                 HEARSAY_ORDER_NEWEST,     HEARSAY_ORDER_NEWEST};
    struct rng *rng = &world->rng;
    struct m_query *query = &request->query;

    *query = (struct m_query){.host = request->host,
                              .k = 1 + rng_below(rng, M_RESULTS),
                              .part_count = 1 + rng_below(rng, M_PARTS),
                              .max_distance_ppm = choose_distance(world),
                              .since_ms = INT64_MIN,
                              .until_ms = INT64_MAX,
                              .order = orders[rng_below(rng, 8)],
                              .with_payload = rng_chance(rng, 50)};
    query->is_hood = request->kind == HEARSAY_REQUEST_QUERY && rng_chance(rng, 30);
    if (rng_chance(rng, 60)) {
        query->part_count = 1;
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        struct m_part *part = &query->parts[p];
        part->epoch = choose_epoch(world, request->host);
        make_filter(world, request->host, part->filter);
        part->has_contains = rng_chance(rng, 15);
        for (unsigned i = 0; i < M_FILTER_BYTES && part->has_contains; i++) {
            part->contains[i] = (uint8_t)(part->filter[i] & rng_next(rng) & rng_next(rng));
        }
    }
    if (rng_chance(rng, 15)) {
        query->since_ms = world->model.now_ms - rng_below(rng, 600) * 1000;
    }
    if (rng_chance(rng, 10)) {
        query->until_ms = world->model.now_ms - rng_below(rng, 300) * 1000;
    }
    if (rng_chance(rng, 15)) {
        query->exclude_bytes = 1 + rng_below(rng, 24);
        query->exclude_hashes = 1 + rng_below(rng, 4);
        query->exclude_seed = rng_next(rng);
        for (uint32_t i = 0; i < query->exclude_bytes; i++) {
            query->exclude[i] = (uint8_t)(rng_next(rng) & rng_next(rng));
        }
    }
}

static void make_deposit(struct world *world, struct w_request *request)
{
    struct rng *rng = &world->rng;

    request->epoch = choose_epoch(world, request->host);
    make_filter(world, request->host, request->filter);
    request->filter_bytes = world->model.hosts[request->host].filter_bytes;
    if (rng_chance(rng, 1)) {
        request->filter_bytes--;
    }
    request->payload = rng_below(rng, PAYLOADS);
    request->has_ttl_s = rng_chance(rng, 90);
    request->ttl_s = 1 + (rng_chance(rng, 60) ? rng_below(rng, 120) : rng_below(rng, 200000));
    if (rng_chance(rng, 1)) {
        request->ttl_s = world->config.limits.ttl_max_s + rng_below(rng, 2);
    }
    request->reach_ppm = choose_distance(world);
    request->can_withdraw = rng_chance(rng, 60);
    request->token = rng_below(rng, TOKENS);
    if (rng_chance(rng, 25) && world->model.message_count > 0) { /* the same again */
        const struct m_message *again =
            &world->model.messages[rng_below(rng, world->model.message_count)];
        request->host = again->host;
        request->names_host = true;
        request->filter_bytes = world->model.hosts[again->host].filter_bytes;
        request->epoch = again->epoch;
        request->payload = again->payload;
        request->reach_ppm = again->reach_ppm;
        request->can_withdraw = again->can_withdraw;
        request->token = again->token;
        memcpy(request->message_id, again->id, MESSAGE_ID_BYTES);
        memcpy(request->filter, again->filter, M_FILTER_BYTES);
    }
}

/* What only the operator may ask; others try it, too. */
static void make_administrative(struct world *world, struct w_request *request)
{
    static const char *const modes[] = {NULL, "open", "open", "review", "closed", "auto", "ajar"};
    static const char *const levels[] = {NULL, "noise", "error"};
    struct rng *rng = &world->rng;

    request->ban = rng_chance(rng, 15);
    request->pending = rng_chance(rng, 50);
    if (request->kind == HEARSAY_REQUEST_ACCEPT) {
        request->word = modes[rng_below(rng, 7)];
    } else if (request->kind == HEARSAY_REQUEST_LOG_LEVEL) {
        request->word = levels[rng_below(rng, 3)];
    } else if (request->kind == HEARSAY_REQUEST_BACKUP) {
        (void)snprintf(request->path, sizeof(request->path), "%s/copy-%llu",
                       rng_chance(rng, 20) ? "there" : world->directory,
                       (unsigned long long)request->id);
        request->word = request->path;
    } else if (request->kind == HEARSAY_REQUEST_BANS) {
        request->number = rng_below(rng, 3);
    } else if (request->kind == HEARSAY_REQUEST_REPORTED ||
               request->kind == HEARSAY_REQUEST_EXPORT) {
        request->number = 1 + rng_below(rng, 8);
    } else if (request->kind == HEARSAY_REQUEST_BAN || request->kind == HEARSAY_REQUEST_UNBAN) {
        const struct m_host *host = &world->model.hosts[request->host];
        if (request->kind == HEARSAY_REQUEST_UNBAN && host->ban_count > 0 && rng_chance(rng, 80)) {
            request->rule = host->bans[rng_below(rng, host->ban_count)];
            return;
        }
        request->rule.is_payload = rng_chance(rng, 50);
        if (request->rule.is_payload) {
            m_payload_hash(rng_below(rng, PAYLOADS), request->rule.value);
        } else {
            memcpy(request->rule.value, world->contexts[request->host][rng_below(rng, 8)],
                   M_FILTER_BYTES);
            request->rule.max_distance_ppm = rng_chance(rng, 50) ? 0 : rng_below(rng, 200000);
        }
    }
}

/* Of those that are there, mostly; in every case an id of this world. */
static void choose_message(struct world *world, struct w_request *request)
{
    const struct model *model = &world->model;

    for (unsigned i = 0; i < 30 && model->message_count > 0; i++) {
        const struct m_message *one =
            &model->messages[rng_below(&world->rng, model->message_count)];
        const bool is_for_restore = one->looked_at && (i >= 20 || one->state >= PERSIST_HIDDEN);
        if (one->served && (request->kind != HEARSAY_REQUEST_RESTORE || is_for_restore)) {
            request->host = one->host;
            request->names_host = true;
            memcpy(request->message_id, one->id, MESSAGE_ID_BYTES);
            return;
        }
    }
}

static enum hearsay_request_kind choose_kind(struct world *world, const struct w_client *client)
{
    static const uint8_t usual[][2] = {
        {HEARSAY_REQUEST_DEPOSIT, 40}, {HEARSAY_REQUEST_QUERY, 30},  {HEARSAY_REQUEST_GET, 8},
        {HEARSAY_REQUEST_WITHDRAW, 6}, {HEARSAY_REQUEST_REPORT, 12}, {HEARSAY_REQUEST_PING, 2},
        {HEARSAY_REQUEST_SUMMARY, 4},  {HEARSAY_REQUEST_HERE, 1},    {HEARSAY_REQUEST_WATCH, 5},
        {HEARSAY_REQUEST_UNWATCH, 4},  {HEARSAY_REQUEST_HELLO, 1},
    };
    static const uint8_t operators[][2] = {
        {HEARSAY_REQUEST_RESTORE, 30}, {HEARSAY_REQUEST_REMOVE, 5},  {HEARSAY_REQUEST_REPORTED, 6},
        {HEARSAY_REQUEST_BAN, 6},      {HEARSAY_REQUEST_UNBAN, 14},  {HEARSAY_REQUEST_BANS, 3},
        {HEARSAY_REQUEST_ACCEPT, 5},   {HEARSAY_REQUEST_CHECK, 4},   {HEARSAY_REQUEST_EXPORT, 6},
        {HEARSAY_REQUEST_STATS, 5},    {HEARSAY_REQUEST_RELOAD, 2},  {HEARSAY_REQUEST_LOG_LEVEL, 2},
        {HEARSAY_REQUEST_BACKUP, 2},   {HEARSAY_REQUEST_COMPACT, 3},
    };
    const bool is_operator = rng_chance(&world->rng, client->is_administrator ? 70 : 2);
    const uint8_t(*kinds)[2] = is_operator ? operators : usual;
    const size_t count = is_operator ? sizeof(operators) / 2 : sizeof(usual) / 2;
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += kinds[i][1];
    }
    uint32_t dice = rng_below(&world->rng, sum);
    size_t at = 0;
    for (; dice >= kinds[at][1]; at++) {
        dice -= kinds[at][1];
    }
    return (enum hearsay_request_kind)kinds[at][0];
}

static void make_watch(struct world *world, struct w_request *request)
{
    make_query(world, request);
    request->query.k = 0;
    request->query.until_ms = INT64_MAX;
    request->query.order = HEARSAY_ORDER_SIMILARITY;
    request->query.exclude_bytes = 0;
    if (rng_chance(&world->rng, 60)) { /* much of what comes */
        request->query.max_distance_ppm = LIMIT_DISTANCE_PPM;
        request->query.parts[0].epoch = 0;
        request->query.parts[0].has_contains = false;
    }
    if (rng_chance(&world->rng, 40)) {
        request->after_seq = rng_below(&world->rng, (uint32_t)world->model.seq + 3);
    }
}

void ask_something(struct world *world, struct w_client *client)
{
    struct rng *rng = &world->rng;
    const enum hearsay_request_kind kind = choose_kind(world, client);
    struct w_request *request = client_request(world, client, kind);

    switch (kind) {
    case HEARSAY_REQUEST_DEPOSIT:
        make_deposit(world, request);
        break;
    case HEARSAY_REQUEST_QUERY:
        make_query(world, request);
        break;
    case HEARSAY_REQUEST_WATCH:
        make_watch(world, request);
        break;
    case HEARSAY_REQUEST_UNWATCH:
        request->watch_id = 1 + rng_below(rng, (uint32_t)world->watch_number + 1);
        break;
    case HEARSAY_REQUEST_SUMMARY:
        request->epoch = choose_epoch(world, request->host);
        break;
    case HEARSAY_REQUEST_EXPORT:
        make_administrative(world, request);
        request->has_cursor = rng_chance(rng, 60);
        request->cursor = rng_below(rng, (uint32_t)world->model.seq + 2);
        break;
    case HEARSAY_REQUEST_GET:
    case HEARSAY_REQUEST_WITHDRAW:
    case HEARSAY_REQUEST_REPORT:
    case HEARSAY_REQUEST_REMOVE:
    case HEARSAY_REQUEST_RESTORE:
        make_administrative(world, request);
        request->token = rng_below(rng, TOKENS);
        request->reason = rng_below(rng, 4);
        choose_message(world, request);
        break;
    default:
        make_administrative(world, request);
    }
    client_put(world, client, request);
}

void ask_hello(struct world *world, struct w_client *client)
{
    client_put(world, client, client_request(world, client, HEARSAY_REQUEST_HELLO));
}

void ask_plain(struct world *world, struct w_client *client, enum hearsay_request_kind kind,
               uint32_t host)
{
    struct w_request *request = client_request(world, client, kind);

    request->host = host;
    request->names_host = true;
    request->unknown_host = false;
    client_put(world, client, request);
}

void ask_get(struct world *world, struct w_client *client, const struct m_message *message)
{
    struct w_request *request = client_request(world, client, HEARSAY_REQUEST_GET);

    request->host = message->host;
    request->names_host = true;
    request->unknown_host = false;
    memcpy(request->message_id, message->id, MESSAGE_ID_BYTES);
    client_put(world, client, request);
}

/* What a client goes on with after each reconnect, from where it was. */
void ask_interest(struct world *world, struct w_client *client, struct w_interest *interest)
{
    struct w_request *request = client_request(world, client, HEARSAY_REQUEST_WATCH);

    request->unknown_host = false;
    if (!interest->is_set) {
        make_watch(world, request);
        memset(interest, 0, sizeof(*interest));
        interest->is_set = true;
        interest->last_seq = -1;
        interest->query = request->query;
    }
    request->host = interest->query.host;
    request->names_host = true;
    request->query = interest->query;
    request->after_seq = interest->last_seq >= 0 ? (uint64_t)interest->last_seq : UINT64_MAX;
    request->interest = interest;
    client_put(world, client, request);
}
