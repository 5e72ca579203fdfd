/* SPDX-License-Identifier: Apache-2.0 */
/* sim_expect: see sim_world.h. */
#include <string.h>

#include "tests/sim/sim_expect.h"

/* --- queries, gets, pages --------------------------------------------------------------------- */

static bool check_parts(struct world *world, struct w_request *request, const char *epoch,
                        const char *filter, const char *contains)
{
    const struct m_query *query = &request->query;
    const struct m_host *host = &world->model.hosts[request->host];
    const uint32_t most = world->config.limits.query_fill_max_ppm;

    for (uint32_t p = 0; p < query->part_count; p++) {
        const struct m_part *part = &query->parts[p];
        if (m_epoch(&world->model, request->host, part->epoch) == NULL) {
            expect_error(request, HEARSAY_CODE_UNKNOWN_EPOCH, epoch);
        } else if (!expect_fill_is_right(&host->config->profile, part->filter, 0, most)) {
            expect_error(request, HEARSAY_CODE_FILL_OUT_OF_RANGE, filter);
        } else if (part->has_contains &&
                   !expect_fill_is_right(&host->config->profile, part->contains, 0, most)) {
            expect_error(request, HEARSAY_CODE_FILL_OUT_OF_RANGE, contains);
        } else {
            continue;
        }
        return false;
    }
    return true;
}

static void find(struct world *world, struct w_request *request)
{
    struct w_expected *expected = &request->expected;

    expect(request, HEARSAY_RESPONSE_RESULTS);
    expected->count = m_find(&world->model, &request->query, expected->results, &expected->capped);
    expected->shifts = world->model.shifts;
}

/* Whether the slice has an id that was not added with a chance of more than 0.6: (s/b)^d, at most
 * 4 hashes of 192 bits. */
static bool is_too_full(const struct m_query *query)
{
    uint64_t set = 0;
    uint64_t part = 1;
    uint64_t whole = 1;

    for (uint32_t i = 0; i < query->exclude_bytes * 8; i++) {
        set += query->exclude[i / 8] >> i % 8 & 1;
    }
    for (uint32_t i = 0; i < query->exclude_hashes; i++) {
        part *= set;
        whole *= (uint64_t)query->exclude_bytes * 8;
    }
    return part * 5 > whole * 3;
}

static void expect_query(struct world *world, struct w_request *request)
{
    const struct m_query *query = &request->query;

    if (query->since_ms >= query->until_ms && query->until_ms != INT64_MAX) {
        expect_error(request, HEARSAY_CODE_INVALID, "until_ms");
    } else if (query->is_hood && world->config.hosts[request->host].hood[0] == '\0') {
        expect_error(request, HEARSAY_CODE_INVALID, "scope");
    } else if (query->exclude_bytes > 0 && is_too_full(query)) {
        expect_error(request, HEARSAY_CODE_FILL_OUT_OF_RANGE, "exclude.bits");
    } else if (check_parts(world, request, "parts.epoch", "parts.filter", "parts.contains")) {
        request->attempts = 1;
        find(world, request);
    }
}

/* Whether nobody may see it any more, though the store has it. */
static bool is_hidden(struct world *world, uint32_t host, const uint8_t *id)
{
    const struct m_message *message = m_served(&world->model, host, id);

    return message != NULL && message->looked_at && message->state >= PERSIST_HIDDEN;
}

/* Of what was found something has gone since: it is asked anew. */
static void query_read(struct world *world, struct w_request *request,
                       const struct w_held_read *held)
{
    struct w_expected *expected = &request->expected;
    bool is_whole = true;

    if (held->read->failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
        return;
    }
    SIM_EQUAL(held->count, expected->count);
    for (uint32_t i = 0; i < expected->count; i++) {
        const struct m_message *message = &world->model.messages[expected->results[i].message];
        bool found = false;
        for (uint32_t j = 0; j < held->count; j++) {
            found = found || held->found[j] == expected->results[i].message;
        }
        is_whole = is_whole && found && message->served && message->shown &&
                   message->moved <= expected->shifts;
    }
    expect(request, HEARSAY_RESPONSE_RESULTS);
    if (!is_whole && request->attempts < 4) {
        request->attempts++;
        find(world, request);
    } else if (!is_whole) {
        expected->or_not_found = true; /* payloads may be missing */
    }
}

static void expect_no_message(struct world *world, struct w_request *request)
{
    const bool was_removed = m_removed(&world->model, request->host, request->message_id);

    expect_error(request, was_removed ? HEARSAY_CODE_REMOVED : HEARSAY_CODE_NOT_FOUND, "id");
}

static void expect_get(struct world *world, struct w_request *request)
{
    const struct m_message *message = m_served(&world->model, request->host, request->message_id);

    if (message == NULL || !m_visible(&world->model, message)) {
        expect_no_message(world, request);
        return;
    }
    expect(request, HEARSAY_RESPONSE_GOT);
    request->expected.message = (uint32_t)(message - world->model.messages);
}

static void get_read(struct world *world, struct w_request *request, const struct w_held_read *held)
{
    if (held->read->failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
    } else if (held->found[0] == M_MESSAGES) {
        expect_no_message(world, request);
    } else if (is_hidden(world, request->host, request->message_id)) {
        expect_error(request, HEARSAY_CODE_NOT_FOUND, "id");
    } else {
        expect(request, HEARSAY_RESPONSE_GOT);
        request->expected.message = held->found[0];
    }
}

static void export_read(struct world *world, struct w_request *request,
                        const struct w_held_read *held)
{
    if (held->read->failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
        return;
    }
    expect(request, HEARSAY_RESPONSE_EXPORTED);
    request->expected.count = 0;
    request->expected.more = held->more;
    for (uint32_t i = 0; i < held->count; i++) {
        if (world->model.messages[held->found[i]].expires_ms > world->model.now_ms) {
            request->expected.results[request->expected.count++].message = held->found[i];
        }
    }
}

static void expect_summary(struct world *world, struct w_request *request)
{
    const struct model *model = &world->model;
    struct w_expected *expected = &request->expected;

    if (m_epoch(&world->model, request->host, request->epoch) == NULL) {
        expect_error(request, HEARSAY_CODE_UNKNOWN_EPOCH, "epoch");
        return;
    }
    expect(request, HEARSAY_RESPONSE_SUMMARIZED);
    for (uint32_t i = 0; i < model->message_count; i++) {
        const struct m_message *one = &model->messages[i];
        if (!one->served || !one->shown || one->host != request->host ||
            one->epoch != request->epoch) {
            continue;
        }
        const uint32_t set = m_bits(one->filter, one->filter, M_FILTER_BYTES, false);
        expected->low = expected->count == 0 || set < expected->low ? set : expected->low;
        expected->high = set > expected->high ? set : expected->high;
        expected->count++;
        for (unsigned b = 0; b < M_FILTER_BYTES; b++) {
            expected->filter[b] |= one->filter[b];
        }
    }
}

static void expect_watch(struct world *world, struct w_request *request)
{
    uint32_t own = 0;

    if (!check_parts(world, request, "query.parts.epoch", "query.parts.filter",
                     "query.parts.contains")) {
        return;
    }
    for (uint32_t i = 0; i < world->watch_count; i++) {
        const struct w_watch *watch = world->watches[i];
        if (watch->client == request->client && watch->session == request->session &&
            !watch->is_over) {
            own += watch->query.part_count;
        }
    }
    if (own + request->query.part_count > world->config.limits.watches_per_session) {
        expect_error(request, HEARSAY_CODE_QUOTA, "");
        return;
    }
    expect(request, HEARSAY_RESPONSE_WATCHING);
    request->expected.watch_id = ++world->watch_number;
    request->expected.seq = (uint64_t)world->model.newest;
    watches_begin(world, request, &request->expected);
}

static void expect_unwatch(struct world *world, struct w_request *request)
{
    for (uint32_t i = 0; i < world->watch_count; i++) {
        struct w_watch *watch = world->watches[i];
        if (watch->client == request->client && watch->session == request->session &&
            !watch->is_over && watch->id == request->watch_id) {
            watch->is_over = true;
            expect(request, HEARSAY_RESPONSE_UNWATCHED);
            return;
        }
    }
    expect_error(request, HEARSAY_CODE_NOT_FOUND, "watch_id");
}

/* --- the operator ----------------------------------------------------------------------------- */

static void expect_accept(struct world *world, struct w_request *request)
{
    const char *source = NULL;
    struct w_expected *expected = &request->expected;

    expect(request, HEARSAY_RESPONSE_ACCEPTING);
    expected->mode =
        accept_name(m_accept(&world->model, request->host, &source, &expected->until_ms));
    expected->source = source;
}

static void expect_bans(struct world *world, struct w_request *request)
{
    const struct m_host *host = &world->model.hosts[request->host];

    expect(request, HEARSAY_RESPONSE_BAN_LIST);
    request->expected.count = host->ban_count;
    memcpy(request->expected.bans, host->bans, sizeof(host->bans));
}

void expect_rule_done(struct world *world, struct w_request *request, const struct persist_op *op,
                      bool failed)
{
    struct m_host *host = &world->model.hosts[request->host];

    if (failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
    } else if (request->kind == HEARSAY_REQUEST_ACCEPT) {
        host->has_mode = strcmp(request->word, "auto") != 0;
        host->mode = strcmp(request->word, "review") == 0   ? ACCEPT_REVIEW
                     : strcmp(request->word, "closed") == 0 ? ACCEPT_CLOSED
                                                            : ACCEPT_OPEN;
        expect_accept(world, request);
    } else if (request->kind == HEARSAY_REQUEST_BAN) {
        request->rule.since_ms = op->now_ms;
        m_put_ban(host, &request->rule);
        expect(request, HEARSAY_RESPONSE_BANNED);
    } else if (m_drop_ban(host, &request->rule)) {
        expect(request, HEARSAY_RESPONSE_UNBANNED);
    } else {
        expect_error(request, HEARSAY_CODE_NOT_FOUND, NULL);
    }
}

static void expect_stats(struct world *world, struct w_request *request)
{
    const struct model *model = &world->model;

    expect(request, HEARSAY_RESPONSE_STATS_TAKEN);
    for (uint32_t h = 0; h < world->config.host_count; h++) {
        uint64_t *figures = request->expected.figures[h];
        m_usage(model, h, &figures[0], &figures[1]);
        for (uint32_t i = 0; i < model->message_count; i++) {
            const struct m_message *one = &model->messages[i];
            if (one->served && one->host == h) {
                figures[2] += one->shown;
                figures[3] += one->looked_at && one->state >= PERSIST_HIDDEN;
                figures[4] += one->looked_at && one->state == PERSIST_PENDING;
            }
        }
    }
}

static bool is_administrative(enum hearsay_request_kind kind)
{
    return kind >= HEARSAY_REQUEST_STATS && kind <= HEARSAY_REQUEST_BANS;
}

static void expect_administrative(struct world *world, struct w_request *request)
{
    switch (request->kind) {
    case HEARSAY_REQUEST_RESTORE:
        expect_restore(world, request);
        return;
    case HEARSAY_REQUEST_REPORTED:
        expect_reported(world, request);
        return;
    case HEARSAY_REQUEST_BANS:
        expect_bans(world, request);
        return;
    case HEARSAY_REQUEST_ACCEPT:
        if (request->word == NULL) {
            expect_accept(world, request);
        } else if (strcmp(request->word, "ajar") == 0) {
            expect_error(request, HEARSAY_CODE_INVALID, "mode");
        }
        return;
    case HEARSAY_REQUEST_STATS:
        expect_stats(world, request);
        return;
    case HEARSAY_REQUEST_CHECK:
        if (world->server.service->checking) {
            expect_error(request, HEARSAY_CODE_RATE_LIMITED, "");
        } else {
            expect(request, HEARSAY_RESPONSE_CHECKED);
        }
        return;
    case HEARSAY_REQUEST_BACKUP:
    case HEARSAY_REQUEST_COMPACT:
        if (request->kind == HEARSAY_REQUEST_BACKUP && request->word[0] != '/') {
            expect_error(request, HEARSAY_CODE_INVALID, "path");
        } else if (world->job != NULL) {
            expect_error(request, HEARSAY_CODE_RATE_LIMITED, "");
        } else {
            request->expected.kind = request->kind == HEARSAY_REQUEST_BACKUP
                                         ? HEARSAY_RESPONSE_BACKED_UP
                                         : HEARSAY_RESPONSE_COMPACTED;
        }
        return;
    case HEARSAY_REQUEST_RELOAD:
        expect(request, HEARSAY_RESPONSE_RELOADED);
        return;
    case HEARSAY_REQUEST_LOG_LEVEL:
        if (request->word != NULL && strcmp(request->word, "noise") == 0) {
            expect_error(request, HEARSAY_CODE_INVALID, "level");
        } else {
            expect(request, HEARSAY_RESPONSE_LOG_LEVEL_SET);
        }
        return;
    default: /* remove, ban, unban: when it is stored */
        return;
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t take_tokens(struct world *world, const struct w_request *request)
{
    uint32_t cost = 1;

    switch (request->kind) {
    case HEARSAY_REQUEST_DEPOSIT:
    case HEARSAY_REQUEST_WITHDRAW:
    case HEARSAY_REQUEST_REPORT:
        return m_take_tokens(&world->model, request->client->sender, true, 1);
    case HEARSAY_REQUEST_QUERY:
    case HEARSAY_REQUEST_WATCH:
        cost = request->query.part_count;
        /* a slice and its hashes: a token for each 3 of them, rounded up */
        cost += request->query.exclude_bytes > 0 ? (1 + request->query.exclude_hashes + 2) / 3 : 0;
        cost *= request->query.is_hood ? 4 : 1;
        break;
    case HEARSAY_REQUEST_GET:
    case HEARSAY_REQUEST_SUMMARY:
    case HEARSAY_REQUEST_HERE:
        break;
    default:
        return 0;
    }
    return m_take_tokens(&world->model, request->client->sender, false, cost);
}

static void expect_host_request(struct world *world, struct w_request *request)
{
    switch (request->kind) {
    case HEARSAY_REQUEST_DEPOSIT:
        expect_deposit(world, request);
        return;
    case HEARSAY_REQUEST_QUERY:
        expect_query(world, request);
        return;
    case HEARSAY_REQUEST_GET:
        expect_get(world, request);
        return;
    case HEARSAY_REQUEST_REPORT:
        expect_report(world, request);
        return;
    case HEARSAY_REQUEST_SUMMARY:
        expect_summary(world, request);
        return;
    case HEARSAY_REQUEST_HERE:
        expect(request, HEARSAY_RESPONSE_HERE_LABELS);
        return;
    case HEARSAY_REQUEST_WATCH:
        expect_watch(world, request);
        return;
    case HEARSAY_REQUEST_EXPORT:   /* when it is read */
    case HEARSAY_REQUEST_WITHDRAW: /* when it is stored */
        return;
    default:
        expect_administrative(world, request);
    }
}

static bool names_hosts(enum hearsay_request_kind kind)
{
    return kind != HEARSAY_REQUEST_CHECK && kind != HEARSAY_REQUEST_BACKUP &&
           kind != HEARSAY_REQUEST_COMPACT && kind != HEARSAY_REQUEST_RELOAD &&
           kind != HEARSAY_REQUEST_LOG_LEVEL;
}

void expect_request(struct world *world, struct w_request *request)
{
    const uint64_t wait_ms = take_tokens(world, request);

    if (wait_ms > 0) {
        expect_error(request, HEARSAY_CODE_RATE_LIMITED, "");
        request->expected.retry_ms = wait_ms;
    } else if (request->kind == HEARSAY_REQUEST_HELLO) {
        expect_error(request, HEARSAY_CODE_INVALID, "hello");
    } else if (request->kind == HEARSAY_REQUEST_PING) {
        expect(request, HEARSAY_RESPONSE_PONG);
        request->expected.now_ms = world->model.now_ms;
        request->expected.trusted = model_clock_trusted(&world->model);
    } else if (request->kind == HEARSAY_REQUEST_UNWATCH) {
        expect_unwatch(world, request);
    } else if (is_administrative(request->kind) && !request->client->is_administrator) {
        expect_error(request, HEARSAY_CODE_FORBIDDEN, NULL);
    } else if (request->unknown_host && names_hosts(request->kind)) {
        expect_error(request, HEARSAY_CODE_UNKNOWN_HOST, "host");
    } else {
        expect_host_request(world, request);
    }
}

/* What was not answered at once comes when it was read, and may be another answer then. */
void expect_later(struct w_request *request)
{
    if (request != NULL && !request->expected.responded &&
        (request->kind == HEARSAY_REQUEST_QUERY || request->kind == HEARSAY_REQUEST_GET)) {
        request->expected.is_known = false;
    }
}

void expect_read_done(struct world *world, struct w_held_read *held)
{
    struct w_request *request = held->owner;

    if (request == NULL) {
        return;
    }
    request->has_failed = request->has_failed || held->read->failed;
    switch (request->kind) {
    case HEARSAY_REQUEST_QUERY:
        query_read(world, request, held);
        return;
    case HEARSAY_REQUEST_GET:
        get_read(world, request, held);
        return;
    case HEARSAY_REQUEST_EXPORT:
        export_read(world, request, held);
        return;
    case HEARSAY_REQUEST_RESTORE:
        expect_restore_read(world, request, held);
        return;
    case HEARSAY_REQUEST_REPORTED:
        expect_reported_read(request, held);
        return;
    default:
        return;
    }
}
