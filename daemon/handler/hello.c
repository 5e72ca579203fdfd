/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hello: answers with Welcome, which lists hosts, limits and capabilities, or with an error.
 * handler_push_epoch, handler_push_accept and handler_push_notices push to a client what has
 * changed since: a new epoch, which deposits a host accepts, what the operator says. A gateway gets
 * the notices behind Welcome, too.
 */
#include <string.h>

#include "daemon/handler/handler.h"
#include "daemon/handler/inner.h"

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

/* How the agent of hearsay-web begins. */
static const char web_agent[] = "hearsay-web/";

/* Fills `out`, which has LIMIT_CAPABILITIES elements, and returns the number of capabilities. */
static size_t fill_capabilities(const struct requester *client, struct hearsay_text *out)
{
    size_t count = handler_list_requests(client, out);

    out[count++] = (struct hearsay_text)TEXT("hood");
    if (client->may_speak_for) {
        out[count++] = (struct hearsay_text)TEXT("on_behalf");
    }
    if (client->is_gateway) {
        out[count++] = (struct hearsay_text)TEXT("request_on_behalf");
    }
    return count;
}

static void fill_limits(const struct hearsay_limits *limits, const struct requester *client,
                        struct hearsay_limits *out)
{
    bool exempt = client->sender == NULL;

    *out = *limits;
    out->media_type_bytes = LIMIT_MEDIA_TYPE_BYTES;
    out->sessions_per_address = exempt ? 0 : config_sessions_of_address(limits);
    if (exempt || limits->deposits_per_minute == 0) {
        out->deposits_per_minute = 0;
        out->deposit_burst = 0;
    }
    if (exempt || limits->queries_per_minute == 0) {
        out->queries_per_minute = 0;
        out->query_burst = 0;
    }
}

static bool hello_speaks(const struct hearsay_hello *hello, uint32_t version)
{
    for (uint32_t i = 0; i < hello->version_count; i++) {
        if (hello->versions[i] == version) {
            return true;
        }
    }
    return false;
}

static void fill_epoch(const struct requester *client, const struct epoch *epoch,
                       struct hearsay_epoch_info *out)
{
    *out = (struct hearsay_epoch_info){
        .number = epoch->number,
        .starts_ms = epoch->starts_ms,
        .ends_ms = epoch->ends_ms,
        .kept_ms = epoch->kept_ms,
    };
    if (client->is_on_site) {
        out->key = (struct hearsay_bytes){epoch->key, sizeof(epoch->key)};
    }
}

void handler_push_epoch(struct requester *client, const struct host *host)
{
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_EPOCH_CHANGED};

    response.epoch_changed.host =
        (struct hearsay_text){host->config.name, strlen(host->config.name)};
    fill_epoch(client, host->current, &response.epoch_changed.epoch);
    client->events->respond(client, &response);
}

static enum hearsay_acceptance find_acceptance(const struct host *host, int64_t now_ms,
                                               int64_t *out_until_ms)
{
    static const enum hearsay_acceptance modes[ACCEPT_MODES] = {
        [ACCEPT_OPEN] = HEARSAY_ACCEPT_OPEN,
        [ACCEPT_REVIEW] = HEARSAY_ACCEPT_REVIEW,
        [ACCEPT_CLOSED] = HEARSAY_ACCEPT_CLOSED,
    };
    const char *source = NULL;

    return modes[accept_mode_now(host, now_ms, &source, out_until_ms)];
}

void handler_push_accept(struct requester *client, const struct host *host, int64_t now_ms)
{
    struct hearsay_response response = {
        .kind = HEARSAY_RESPONSE_ACCEPT_CHANGED,
        .accept_changed = {.host = {host->config.name, strlen(host->config.name)}},
    };

    response.accept_changed.accept =
        find_acceptance(host, now_ms, &response.accept_changed.accept_until_ms);
    client->events->respond(client, &response);
}

void handler_push_notices(struct requester *client, const struct host *host)
{
    struct hearsay_house_notice notices[LIMIT_NOTICES];
    struct hearsay_response response = {
        .kind = HEARSAY_RESPONSE_NOTICES_CHANGED,
        .notices_changed = {.host = {host->config.name, strlen(host->config.name)},
                            .notices = notices,
                            .notice_count = handler_fill_notices(&host->rules, NULL, notices)},
    };

    client->events->respond(client, &response);
}

static void refuse_version(struct requester *client, uint64_t request_id)
{
    struct hearsay_response response = {.id = request_id, .kind = HEARSAY_RESPONSE_ERROR};

    msg_error_set(&response.error, HEARSAY_CODE_UNSUPPORTED_VERSION, "versions",
                  "none of the client's versions is spoken here; version %d is", LIMIT_VERSION);
    response.error.versions[0] = LIMIT_VERSION;
    response.error.version_count = 1;
    client->events->respond(client, &response);
}

/* Fills all that a client is told of a host but the here labels. */
static void fill_host(const struct requester *client, const struct host *host, int64_t now_ms,
                      struct hearsay_host_info *out)
{
    *out = (struct hearsay_host_info){
        .name = {host->config.name, strlen(host->config.name)},
        .profile = {host->profile_text, strlen(host->profile_text)},
        .suggested_max_distance_ppm = host->config.suggested_max_distance_ppm,
        .messages = host->config.messages_max,
        .bytes = host->config.bytes_max,
        .evict = (enum hearsay_evict)((int)host->config.evict + HEARSAY_EVICT_REJECT),
        .has_epoch = host->current != NULL,
        .role = host->config.is_replica   ? HEARSAY_ROLE_REPLICA
                : host_is_restoring(host) ? HEARSAY_ROLE_RESTORING
                                          : HEARSAY_ROLE_OWNER,
    };
    if (host->current != NULL) {
        fill_epoch(client, host->current, &out->epoch);
    }
    if (host->config.hood[0] != '\0') {
        out->hood = (struct hearsay_text){host->config.hood, strlen(host->config.hood)};
    }
    out->accept = find_acceptance(host, now_ms, &out->accept_until_ms);
}

bool handler_welcome(struct service *service, struct requester *client,
                     const struct hearsay_request *request)
{
    if (!hello_speaks(&request->hello, LIMIT_VERSION)) {
        refuse_version(client, request->id);
        return false;
    }

    const struct hearsay_text *agent = &request->hello.agent;
    client->is_web = agent->text != NULL && strncmp(agent->text, web_agent, strlen(web_agent)) == 0;
    int64_t now_ms = service_now_ms(service);
    struct hearsay_host_info hosts[LIMIT_HOSTS];
    struct hearsay_text capabilities[LIMIT_CAPABILITIES];
    for (size_t i = 0; i < service->host_count; i++) {
        fill_host(client, &service->hosts[i], now_ms, &hosts[i]);
    }
    handler_here_welcome(service, client, hosts);
    struct hearsay_response response = {.id = request->id, .kind = HEARSAY_RESPONSE_WELCOME};
    response.welcome = (struct msg_welcome){
        .version = LIMIT_VERSION,
        .store_id = {service->store.store_id, PERSIST_STORE_ID_BYTES},
        .now_ms = now_ms,
        .clock_trusted = service_clock_trusted(service),
        .hosts = hosts,
        .host_count = service->host_count,
        .agent = TEXT("hearsayd/" HEARSAY_VERSION),
    };
    response.welcome.capabilities = capabilities;
    response.welcome.capability_count = fill_capabilities(client, capabilities);
    fill_limits(&service->config.limits, client, &response.welcome.limits);
    response.welcome.resume_token =
        (struct hearsay_bytes){client->resume_token, RESUME_TOKEN_BYTES};
    response.welcome.has_dropped =
        resume_take(&service->resume, &request->hello.resume_token, service_monotonic_ms(service),
                    &response.welcome.dropped);
    client->events->respond(client, &response);
    arena_reset(&service->arena);
    for (size_t i = 0; client->is_gateway && i < service->host_count; i++) {
        if (service->hosts[i].rules.notice_count > 0) {
            handler_push_notices(client, &service->hosts[i]);
        }
    }
    return true;
}
