/* SPDX-License-Identifier: Apache-2.0 */
/* sim_answer: see sim_world.h. */
#include <string.h>

#include "tests/sim/sim_world.h"

static bool is_text(const struct hearsay_text *text, const char *wanted)
{
    return text->text != NULL && strcmp(text->text, wanted) == 0;
}

static void check_content(const struct m_message *message, const struct hearsay_text *media_type,
                          const struct hearsay_bytes *payload)
{
    SIM_CHECK(is_text(media_type, "text/plain"));
    SIM_EQUAL(payload->count, m_payload_bytes(message->payload));
    SIM_CHECK(payload->count == 0 ||
              memcmp(payload->data, m_payload_text(message->payload), payload->count) == 0);
}

static void check_error(const struct w_expected *expected, const struct msg_error *error)
{
    SIM_EXPECT(expected->kind == HEARSAY_RESPONSE_ERROR,
               "an error instead of an answer of kind %d: %s", expected->kind, error->message);
    SIM_EXPECT(error->code == expected->code, "error %d instead of %d: %s", error->code,
               expected->code, error->message);
    SIM_EXPECT(expected->field == NULL || strcmp(error->field, expected->field) == 0,
               "field \"%s\" instead of \"%s\"", error->field, expected->field);
    SIM_CHECK(error->message[0] != '\0');
    if (expected->code == HEARSAY_CODE_RATE_LIMITED && expected->retry_ms > 0) {
        SIM_EQUAL(error->retry_after_ms, expected->retry_ms);
    } else if (expected->code == HEARSAY_CODE_FORBIDDEN || expected->code == HEARSAY_CODE_STORAGE) {
        SIM_EXPECT(error->retry_after_ms == expected->retry_ms ||
                       expected->code == HEARSAY_CODE_STORAGE,
                   "another time to try again");
    }
}

/* --- epochs, welcome -------------------------------------------------------------------------- */

static void check_epoch(const struct world *world, const struct w_client *client, size_t h,
                        const struct hearsay_epoch_info *epoch)
{
    const struct m_host *host = &world->model.hosts[h];
    const struct m_epoch *there = NULL;

    for (uint32_t e = 0; e < host->epoch_count; e++) {
        there = host->epochs[e].number == epoch->number ? &host->epochs[e] : there;
    }
    SIM_EXPECT(there != NULL, "an epoch that there is not");
    SIM_EQUAL(epoch->starts_ms, there->starts_ms);
    SIM_EQUAL(epoch->ends_ms, there->ends_ms);
    SIM_EQUAL(epoch->kept_ms, there->kept_ms);
    SIM_EXPECT((epoch->key.data != NULL) == client->is_on_site, "a key for one who is not there");
    SIM_CHECK(epoch->key.data == NULL || memcmp(epoch->key.data, there->key, LIMIT_KEY_BYTES) == 0);
}

static void check_welcome(struct world *world, struct w_client *client,
                          const struct w_expected *expected, const struct msg_welcome *welcome)
{
    const struct hearsay_limits *limits = &world->config.limits;
    const bool limited = client->sender != 0;

    SIM_EQUAL(welcome->now_ms, expected->now_ms);
    SIM_EQUAL(welcome->clock_trusted, expected->trusted);
    SIM_EQUAL(welcome->has_dropped, expected->has_dropped);
    SIM_EQUAL(welcome->host_count, world->config.host_count);
    SIM_EQUAL(welcome->limits.deposits_per_minute, limited ? limits->deposits_per_minute : 0);
    SIM_EQUAL(welcome->limits.sender_share_ppm, limits->sender_share_ppm);
    for (size_t h = 0; h < welcome->host_count; h++) {
        const struct hearsay_host_info *host = &welcome->hosts[h];
        SIM_CHECK(is_text(&host->name, world->config.hosts[h].name));
        SIM_EQUAL(host->messages, world->config.hosts[h].messages_max);
        SIM_EQUAL(host->accept, (int)expected->accept[h] + 1);
        SIM_EQUAL(host->accept_until_ms, expected->accept_until_ms[h]);
        SIM_EQUAL(host->has_epoch, expected->epochs[h].number != 0);
        if (host->has_epoch) {
            SIM_EQUAL(host->epoch.number, expected->epochs[h].number);
            check_epoch(world, client, h, &host->epoch);
        }
    }
    SIM_EQUAL(welcome->resume_token.count, RESUME_TOKEN_BYTES);
    memcpy(client->token, welcome->resume_token.data, RESUME_TOKEN_BYTES);
    client->has_token = true;
    client->greeted = true;
}

/* --- messages --------------------------------------------------------------------------------- */

static void check_deposited(const struct world *world, const struct w_expected *expected,
                            const struct hearsay_deposited *deposited)
{
    const struct m_message *message = &world->model.messages[expected->message];

    SIM_EQUAL(deposited->deposited_ms, message->deposited_ms);
    SIM_EQUAL(deposited->expires_ms, message->expires_ms);
    SIM_EXPECT(deposited->expires_ms > deposited->deposited_ms, "it had expired when it came");
    SIM_EQUAL(deposited->duplicate, expected->duplicate);
    SIM_EQUAL(deposited->held, expected->held);
}

/* Whether these are the counts of the part that is nearest; of parts that are equally near, any. */
static bool counts_are_right(const struct world *world, const struct m_query *query,
                             const struct m_result *wanted, const struct hearsay_result *got)
{
    if (got->intersection_count == wanted->both && got->union_count == wanted->either) {
        return true;
    }
    for (uint32_t p = 0; p < query->part_count; p++) {
        struct m_query one = *query;
        struct m_result other;
        one.parts[0] = query->parts[p];
        one.part_count = 1;
        if (m_fits(&world->model, &one, wanted->message, &other) &&
            got->intersection_count == other.both && got->union_count == other.either &&
            (uint64_t)other.both * wanted->either == (uint64_t)wanted->both * other.either) {
            return true;
        }
    }
    return false;
}

static void check_result(const struct world *world, const struct w_request *request,
                         const struct m_result *wanted, const struct hearsay_result *got)
{
    const struct m_message *message = &world->model.messages[wanted->message];
    const struct m_query *query = &request->query;

    SIM_EXPECT(memcmp(got->id.data, message->id, MESSAGE_ID_BYTES) == 0,
               "another message, or another order");
    SIM_EXPECT(counts_are_right(world, query, wanted, got), "%u of %u instead of %u of %u",
               got->intersection_count, got->union_count, wanted->both, wanted->either);
    SIM_EQUAL(got->distance_ppm, m_distance_ppm(got->intersection_count, got->union_count));
    SIM_EQUAL(got->deposited_ms, message->deposited_ms);
    SIM_EQUAL(got->expires_ms, message->expires_ms);
    SIM_EQUAL(got->epoch, message->epoch);
    SIM_CHECK(query->is_hood ? is_text(&got->host, world->config.hosts[message->host].name)
                             : got->host.text == NULL);
    SIM_EXPECT(!got->payload_omitted || request->expected.or_not_found, "a payload is missing");
    if (query->with_payload && !got->payload_omitted) {
        check_content(message, &got->media_type, &got->payload);
    } else {
        SIM_CHECK(got->payload.data == NULL && got->media_type.text == NULL);
    }
}

static void check_hood(const struct world *world, const struct m_query *query,
                       const struct hearsay_results *results)
{
    const char *hood = world->config.hosts[query->host].hood;
    const uint32_t other = 1 - query->host;
    const bool is_peer = query->is_hood && m_is_peer(&world->model, query->host, other);
    bool is_open = false;

    for (uint32_t p = 0; p < query->part_count; p++) {
        is_open = is_open || query->parts[p].epoch == 0;
    }
    SIM_CHECK(results->complete);
    SIM_EQUAL(results->peers, is_peer ? 1 : 0);
    SIM_EQUAL(results->peers_asked, is_peer && is_open ? 1 : 0);
    SIM_EQUAL(results->peers_other,
              query->is_hood && !is_peer && strcmp(hood, world->config.hosts[other].hood) == 0 ? 1
                                                                                               : 0);
    SIM_CHECK(query->is_hood || results->as_of_ms == 0);
    SIM_CHECK(results->as_of_ms <= world->model.now_ms);
}

static void check_results(const struct world *world, const struct w_request *request,
                          const struct hearsay_results *results)
{
    const struct w_expected *expected = &request->expected;

    SIM_CHECK(results->exact);
    SIM_EQUAL(results->capped, expected->capped);
    SIM_EQUAL(results->result_count, expected->count);
    check_hood(world, &request->query, results);
    for (uint32_t i = 0; i < expected->count; i++) {
        check_result(world, request, &expected->results[i], &results->results[i]);
    }
}

static void check_got(const struct world *world, const struct w_expected *expected,
                      const struct hearsay_got *got)
{
    const struct m_message *message = &world->model.messages[expected->message];

    SIM_CHECK(memcmp(got->id.data, message->id, MESSAGE_ID_BYTES) == 0);
    SIM_EQUAL(got->epoch, message->epoch);
    SIM_EQUAL(got->deposited_ms, message->deposited_ms);
    SIM_EQUAL(got->expires_ms, message->expires_ms);
    check_content(message, &got->media_type, &got->payload);
}

static void check_exported(const struct world *world, const struct w_expected *expected,
                           const struct hearsay_exported *exported)
{
    SIM_EQUAL(exported->message_count, expected->count);
    SIM_EQUAL(exported->next.data != NULL, expected->more);
    for (uint32_t i = 0; i < expected->count; i++) {
        const struct m_message *message = &world->model.messages[expected->results[i].message];
        const struct hearsay_exported_message *got = &exported->messages[i];
        SIM_CHECK(memcmp(got->id.data, message->id, MESSAGE_ID_BYTES) == 0);
        SIM_CHECK(memcmp(got->filter.data, message->filter, got->filter.count) == 0);
        SIM_EQUAL(got->reach_ppm, message->reach_ppm);
        SIM_EQUAL(got->withdraw_hash.data != NULL, message->can_withdraw);
        check_content(message, &got->media_type, &got->payload);
    }
}

static void check_summarized(const struct world *world, const struct w_request *request,
                             const struct hearsay_summarized *summarized)
{
    const struct w_expected *expected = &request->expected;

    SIM_EQUAL(summarized->count, expected->count);
    SIM_EQUAL(summarized->cardinality_min, expected->low);
    SIM_EQUAL(summarized->cardinality_max, expected->high);
    SIM_EQUAL(summarized->union_filter.count, world->model.hosts[request->host].filter_bytes);
    SIM_CHECK(memcmp(summarized->union_filter.data, expected->filter,
                     summarized->union_filter.count) == 0);
}

/* --- the operator's --------------------------------------------------------------------------- */

static void check_reported(const struct world *world, const struct w_expected *expected,
                           const struct hearsay_reported_list *list)
{
    SIM_EQUAL(list->total, expected->total);
    SIM_EQUAL(list->message_count, expected->count);
    for (uint32_t i = 0; i < expected->count; i++) {
        const struct m_result *wanted = &expected->results[i];
        const struct m_message *message = &world->model.messages[wanted->message];
        const struct hearsay_reported_message *got = &list->messages[i];
        SIM_CHECK(memcmp(got->id.data, message->id, MESSAGE_ID_BYTES) == 0);
        SIM_EQUAL(got->reports, wanted->both);
        SIM_EQUAL(got->hidden, wanted->either >= PERSIST_HIDDEN);
        SIM_EQUAL(got->pending, wanted->either == PERSIST_PENDING);
        SIM_CHECK(got->reason_count <= M_REASONS);
        check_content(&world->model.messages[wanted->part], &got->media_type, &got->payload);
    }
}

static bool is_ban(const struct world *world, const struct w_request *request,
                   const struct m_ban *ban, const struct hearsay_ban_entry *entry)
{
    const struct hearsay_bytes *value = ban->is_payload ? &entry->payload_hash : &entry->filter;
    const size_t bytes =
        ban->is_payload ? LIMIT_HASH_BYTES : world->model.hosts[request->host].filter_bytes;

    return value->count == bytes && memcmp(value->data, ban->value, bytes) == 0 &&
           entry->max_distance_ppm == ban->max_distance_ppm && entry->since_ms == ban->since_ms;
}

/* In any order, of which nothing is promised over a restart. */
static void check_bans(const struct w_request *request, const struct world *world,
                       const struct hearsay_ban_list *list)
{
    const struct w_expected *expected = &request->expected;
    const uint32_t skip = request->number;

    SIM_CHECK(!list->more);
    SIM_EQUAL(list->ban_count, expected->count > skip ? expected->count - skip : 0);
    for (size_t i = 0; i < list->ban_count; i++) {
        uint32_t found = 0;
        for (uint32_t b = 0; b < expected->count; b++) {
            found += is_ban(world, request, &expected->bans[b], &list->bans[i]);
        }
        SIM_EXPECT(found == 1, "a ban that there is not");
    }
}

static void check_accepting(const struct w_expected *expected,
                            const struct hearsay_accepting *accepting)
{
    SIM_CHECK(is_text(&accepting->mode, expected->mode));
    SIM_CHECK(is_text(&accepting->source, expected->source));
    SIM_EQUAL(accepting->until_ms, expected->until_ms);
}

static void check_stats(const struct world *world, const struct w_request *request,
                        const struct hearsay_stats_taken *stats)
{
    static const char *const names[] = {"messages", "bytes", "shown", "hidden", "pending"};
    uint32_t found = 0;

    for (size_t i = 0; i < stats->figure_count; i++) {
        for (size_t h = 0; h < world->config.host_count; h++) {
            for (unsigned n = 0; n < 5; n++) {
                char name[128];
                (void)snprintf(name, sizeof(name), "host/%s/%s", world->config.hosts[h].name,
                               names[n]);
                if (is_text(&stats->figures[i].name, name)) {
                    SIM_EXPECT(stats->figures[i].value == (int64_t)request->expected.figures[h][n],
                               "%s is %lld and should be %lld", name,
                               (long long)stats->figures[i].value,
                               (long long)request->expected.figures[h][n]);
                    found++;
                }
            }
        }
    }
    SIM_EQUAL(found, (request->names_host ? 1 : world->config.host_count) * 5);
}

/* --- all -------------------------------------------------------------------------------------- */

static void check_push(struct world *world, struct w_client *client,
                       const struct hearsay_response *response)
{
    if (response->kind == HEARSAY_RESPONSE_MATCH) {
        watches_got(world, client, &response->match);
    } else if (response->kind == HEARSAY_RESPONSE_EPOCH_CHANGED) {
        const bool is_second = is_text(&response->epoch_changed.host, world->config.hosts[1].name);
        check_epoch(world, client, is_second, &response->epoch_changed.epoch);
    } else {
        SIM_CHECK(response->kind == HEARSAY_RESPONSE_ERROR);
        SIM_EXPECT(client->is_refused || !client->greeted, "an error about the connection: %s",
                   response->error.message);
        SIM_CHECK(response->error.code == HEARSAY_CODE_RATE_LIMITED ||
                  (!client->is_refused && response->error.code == HEARSAY_CODE_INVALID));
    }
}

static void check_answer(struct world *world, struct w_client *client, struct w_request *request,
                         const struct hearsay_response *response)
{
    switch (response->kind) {
    case HEARSAY_RESPONSE_WELCOME:
        check_welcome(world, client, &request->expected, &response->welcome);
        return;
    case HEARSAY_RESPONSE_PONG:
        SIM_EQUAL(response->pong.now_ms, request->expected.now_ms);
        SIM_EQUAL(response->pong.clock_trusted, request->expected.trusted);
        return;
    case HEARSAY_RESPONSE_DEPOSITED:
        check_deposited(world, &request->expected, &response->deposited);
        return;
    case HEARSAY_RESPONSE_RESULTS:
        check_results(world, request, &response->results);
        return;
    case HEARSAY_RESPONSE_GOT:
        check_got(world, &request->expected, &response->got);
        return;
    case HEARSAY_RESPONSE_EXPORTED:
        check_exported(world, &request->expected, &response->exported);
        return;
    case HEARSAY_RESPONSE_SUMMARIZED:
        check_summarized(world, request, &response->summarized);
        return;
    case HEARSAY_RESPONSE_HERE_LABELS:
        SIM_EQUAL(response->here_labels.label_count, client->is_unix || client->is_on_site);
        SIM_CHECK(response->here_labels.label_count == 0 ||
                  is_text(&response->here_labels.labels[0], "geo:u281zd"));
        return;
    case HEARSAY_RESPONSE_WATCHING:
        SIM_EQUAL(response->watching.watch_id, request->expected.watch_id);
        SIM_EQUAL(response->watching.seq, request->expected.seq);
        if (request->interest != NULL) {
            for (uint32_t i = 0; i < world->watch_count; i++) {
                struct w_watch *watch = world->watches[i];
                if (watch->client == client && watch->session == client->session &&
                    watch->id == request->expected.watch_id) {
                    request->interest->watch = watch;
                }
            }
            if (request->interest->last_seq < 0) {
                request->interest->last_seq = (int64_t)response->watching.seq;
            }
        }
        return;
    case HEARSAY_RESPONSE_REPORTED_LIST:
        check_reported(world, &request->expected, &response->reported_list);
        return;
    case HEARSAY_RESPONSE_BAN_LIST:
        check_bans(request, world, &response->ban_list);
        return;
    case HEARSAY_RESPONSE_ACCEPTING:
        check_accepting(&request->expected, &response->accepting);
        return;
    case HEARSAY_RESPONSE_STATS_TAKEN:
        check_stats(world, request, &response->stats_taken);
        return;
    case HEARSAY_RESPONSE_CHECKED:
        SIM_EXPECT(response->checked.problem_count == 0, "check: %s",
                   response->checked.problems[0].text);
        return;
    default: /* without content, or with what only the storage knows */
        return;
    }
}

void answer_check(struct world *world, struct w_client *client,
                  const struct hearsay_response *response)
{
    if (response->id == 0) {
        check_push(world, client, response);
        return;
    }
    SIM_CHECK(response->id <= world->request_count);
    struct w_request *request = world->requests[response->id - 1];
    struct w_expected *expected = &request->expected;
    SIM_EXPECT(request->client == client && request->session == client->session,
               "an answer to somebody else");
    SIM_EXPECT(expected->responded && !expected->answered, "a second answer");
    expected->answered = true;
    world->answers++;
    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        world->errors++;
        if (request->kind == HEARSAY_REQUEST_CHECK &&
            (request->has_failed || response->error.code == HEARSAY_CODE_SHUTTING_DOWN)) {
            return;
        }
        if (request->kind == HEARSAY_REQUEST_RESTORE && expected->or_not_found) {
            SIM_EQUAL(response->error.code, HEARSAY_CODE_UNKNOWN_EPOCH);
            return;
        }
        check_error(expected, &response->error);
        if (request->kind == HEARSAY_REQUEST_WATCH && request->interest != NULL) {
            request->interest->is_set = false; /* its epoch is over, or there are too many */
        }
        return;
    }
    SIM_EXPECT(response->kind == expected->kind,
               "an answer of kind %d instead of %d (error %d, field %s)", response->kind,
               expected->kind, expected->code, expected->field != NULL ? expected->field : "");
    check_answer(world, client, request, response);
}
