/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/handler.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/filter/bloom.h"

/* --- what all share --------------------------------------------------------------------------- */

void handler_refuse(struct handler_client *client, uint64_t id, enum msg_error_code code,
                    const char *field, const char *format, ...)
{
    struct msg_response response = {.id = id, .kind = MSG_RESPONSE_ERROR};
    char sentence[LIMIT_ERROR_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments); /* a cut sentence still helps */
    va_end(arguments);
    msg_error_set(&response.error, code, field, "%s", sentence);
    client->events->respond(client, &response);
}

void handler_work_begin(struct handler_client *client, size_t bytes, size_t answer_bytes)
{
    client->work_count++;
    client->work_bytes += bytes;
    client->answer_bytes += answer_bytes;
}

void handler_work_end(struct handler_client *client, size_t bytes, size_t answer_bytes)
{
    client->work_count--;
    client->work_bytes -= bytes;
    client->answer_bytes -= answer_bytes;
    client->events->work_ended(client);
}

bool handler_is_administrator(struct handler_client *client, const struct msg_request *request)
{
    if (client->is_administrator) {
        return true;
    }
    if (client->is_local) {
        handler_refuse(client, request->id, MSG_FORBIDDEN, request->name,
                       "%s is for the daemon's own user and root; become one of them (sudo)",
                       request->name);
    } else {
        handler_refuse(client, request->id, MSG_FORBIDDEN, request->name,
                       "%s is served on the daemon's Unix socket only, to its own user and root",
                       request->name);
    }
    return false;
}

struct host *handler_host(struct service *service, struct handler_client *client,
                          const struct msg_request *request, const struct msg_text *name)
{
    struct host *host = service_host(service, name->text);

    if (host == NULL) {
        handler_refuse(client, request->id, MSG_UNKNOWN_HOST, "host",
                       "there is no host \"%s\" here; Welcome lists those there are", name->text);
    }
    return host;
}

struct epoch *handler_epoch(struct service *service, struct handler_client *client,
                            const struct msg_request *request, const struct host *host,
                            uint64_t number, const char *field)
{
    struct epoch *epoch = host_epoch(host, number);

    /* One that is over is ended with the next tick only. */
    if (epoch != NULL && number != 0 && epoch->kept_ms <= service_now_ms(service)) {
        epoch = NULL;
    }
    if (epoch == NULL) {
        handler_refuse(client, request->id, MSG_UNKNOWN_EPOCH, field,
                       "host \"%s\" has no epoch %" PRIu64 "; 0 is the open one", host->config.name,
                       number);
    }
    return epoch;
}

bool handler_filter(struct service *service, struct handler_client *client,
                    const struct msg_request *request, const struct host *host,
                    const struct msg_bytes *bytes, const char *field, uint64_t *out_words)
{
    (void)service;
    if (bytes->count != host->filter_bytes) {
        handler_refuse(client, request->id, MSG_PROFILE_MISMATCH, field,
                       "the filter has %zu bytes; the profile %s of host \"%s\" takes %zu",
                       bytes->count, host->profile_text, host->config.name, host->filter_bytes);
        return false;
    }
    if (bloom_load(out_words, host->config.profile.bits, bytes->data, bytes->count) != 0) {
        handler_refuse(client, request->id, MSG_INVALID, field,
                       "bits beyond bit %" PRIu32 " of the filter are set; they must be zero",
                       host->config.profile.bits - 1);
        return false;
    }
    return true;
}

bool handler_fill(struct handler_client *client, const struct msg_request *request,
                  const struct host *host, const uint64_t *filter, const char *field,
                  uint32_t minimum_ppm, uint32_t maximum_ppm)
{
    const uint32_t bits = host->config.profile.bits;
    const uint32_t set = bloom_cardinality(filter, host->filter_words);
    const uint64_t scaled = (uint64_t)set * 1000000;

    if (scaled >= (uint64_t)minimum_ppm * bits && scaled <= (uint64_t)maximum_ppm * bits) {
        return true;
    }
    handler_refuse(client, request->id, MSG_FILL_OUT_OF_RANGE, field,
                   "%" PRIu32 " of %" PRIu32 " bits are set (%.1f %%); between %.1f %% and %.1f %% "
                   "are taken here",
                   set, bits, (double)set * 100 / bits, (double)minimum_ppm / 10000,
                   (double)maximum_ppm / 10000);
    return false;
}

/* --- Hello, Ping ------------------------------------------------------------------------------ */

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }

/* Names of Request's fields that are served; the last ADMINISTRATIVE only to the administrator. */
static const struct msg_text capabilities[] = {
    TEXT("hello"),   TEXT("deposit"), TEXT("query"),    TEXT("get"),     TEXT("withdraw"),
    TEXT("ping"),    TEXT("summary"), TEXT("here"),     TEXT("report"),  TEXT("watch"),
    TEXT("unwatch"), TEXT("export"),  TEXT("stats"),    TEXT("reload"),  TEXT("log_level"),
    TEXT("remove"),  TEXT("restore"), TEXT("reported"), TEXT("ban"),     TEXT("unban"),
    TEXT("bans"),    TEXT("accept"),  TEXT("backup"),   TEXT("compact"), TEXT("check"),
};
enum { ADMINISTRATIVE = 14 };
enum { CAPABILITY_COUNT = sizeof(capabilities) / sizeof(capabilities[0]) };

static void fill_limits(const struct config_limits *limits, const struct handler_client *client,
                        struct msg_limits *out)
{
    const bool exempt = client->sender == NULL;
    const bool deposits = !exempt && limits->deposits_per_minute > 0;
    const bool queries = !exempt && limits->queries_per_minute > 0;

    *out = (struct msg_limits){
        .frame_bytes = limits->frame_bytes,
        .payload_bytes = limits->payload_bytes,
        .media_type_bytes = LIMIT_MEDIA_TYPE_BYTES,
        .deposit_fill_min_ppm = limits->deposit_fill_min_ppm,
        .deposit_fill_max_ppm = limits->deposit_fill_max_ppm,
        .query_fill_max_ppm = limits->query_fill_max_ppm,
        .k_max = limits->k_max,
        .ttl_default_s = limits->ttl_default_s,
        .ttl_max_s = limits->ttl_max_s,
        .parts_max = limits->parts_max,
        .requests_in_flight = limits->requests_in_flight,
        .watches_per_session = limits->watches_per_session,
        .watches = limits->watches,
        .deposits_per_minute = deposits ? limits->deposits_per_minute : 0,
        .queries_per_minute = queries ? limits->queries_per_minute : 0,
        .deposit_burst = deposits ? limits->deposit_burst : 0,
        .query_burst = queries ? limits->query_burst : 0,
        .sessions = limits->sessions_max,
        .sessions_per_address = exempt ? 0 : config_sessions_of_address(limits),
        .session_output_bytes = limits->session_output_bytes,
        .messages = limits->messages_max,
        .bytes = limits->bytes_max,
        .sender_share_ppm = limits->sender_share_ppm,
        .work_bits = exempt ? 0 : limits->work_bits,
    };
}

static bool speaks(const struct msg_hello *hello, uint32_t version)
{
    for (uint32_t i = 0; i < hello->version_count; i++) {
        if (hello->versions[i] == version) {
            return true;
        }
    }
    return false;
}

static void fill_epoch(const struct handler_client *client, const struct epoch *epoch,
                       struct msg_epoch *out)
{
    *out = (struct msg_epoch){
        .number = epoch->number,
        .starts_ms = epoch->starts_ms,
        .ends_ms = epoch->ends_ms,
        .kept_ms = epoch->kept_ms,
    };
    if (client->is_on_site) {
        out->key = (struct msg_bytes){epoch->key, sizeof(epoch->key)};
    }
}

void handler_push_epoch(struct handler_client *client, const struct host *host)
{
    struct msg_response response = {.kind = MSG_RESPONSE_EPOCH_CHANGED};

    response.epoch_changed.host = (struct msg_text){host->config.name, strlen(host->config.name)};
    fill_epoch(client, host->current, &response.epoch_changed.epoch);
    client->events->respond(client, &response);
}

static void fill_acceptance(const struct host *host, int64_t now_ms, struct msg_host *out)
{
    static const enum msg_acceptance modes[ACCEPT_MODES] = {
        [ACCEPT_OPEN] = MSG_ACCEPT_OPEN,
        [ACCEPT_REVIEW] = MSG_ACCEPT_REVIEW,
        [ACCEPT_CLOSED] = MSG_ACCEPT_CLOSED,
    };
    const char *source = NULL;

    out->accept = modes[handler_accept_now(host, now_ms, &source, &out->accept_until_ms)];
}

bool handler_welcome(struct service *service, struct handler_client *client,
                     const struct msg_request *request)
{
    struct msg_response response = {.id = request->id};

    if (!speaks(&request->hello, LIMIT_VERSION)) {
        response.kind = MSG_RESPONSE_ERROR;
        msg_error_set(&response.error, MSG_UNSUPPORTED_VERSION, "versions",
                      "none of the client's versions is spoken here; version %d is", LIMIT_VERSION);
        response.error.versions[0] = LIMIT_VERSION;
        response.error.version_count = 1;
        client->events->respond(client, &response);
        return false;
    }

    const int64_t now_ms = service_now_ms(service);
    struct msg_host hosts[LIMIT_HOSTS];
    for (size_t i = 0; i < service->host_count; i++) {
        const struct host *host = &service->hosts[i];
        hosts[i] = (struct msg_host){
            .name = {host->config.name, strlen(host->config.name)},
            .profile = {host->profile_text, strlen(host->profile_text)},
            .suggested_max_distance_ppm = host->config.suggested_max_distance_ppm,
            .messages = host->config.messages_max,
            .bytes = host->config.bytes_max,
            .evict = (enum msg_evict)((int)host->config.evict + MSG_EVICT_REJECT),
            .has_epoch = host->current != NULL,
        };
        if (host->current != NULL) {
            fill_epoch(client, host->current, &hosts[i].epoch);
        }
        fill_acceptance(host, now_ms, &hosts[i]);
    }
    handler_here_welcome(service, hosts);
    response.kind = MSG_RESPONSE_WELCOME;
    response.welcome = (struct msg_welcome){
        .version = LIMIT_VERSION,
        .store_id = {service->store.store_id, PERSIST_STORE_ID_BYTES},
        .now_ms = now_ms,
        .clock_trusted = service_clock_trusted(service),
        .capabilities = capabilities,
        .capability_count = CAPABILITY_COUNT - (client->is_administrator ? 0 : ADMINISTRATIVE),
        .hosts = hosts,
        .host_count = service->host_count,
        .agent = TEXT("hearsayd/" HEARSAY_VERSION),
    };
    fill_limits(&service->config.limits, client, &response.welcome.limits);
    response.welcome.resume_token = (struct msg_bytes){client->resume_token, RESUME_TOKEN_BYTES};
    response.welcome.has_dropped =
        resume_take(&service->resume, &request->hello.resume_token, service_monotonic_ms(service),
                    &response.welcome.dropped);
    client->events->respond(client, &response);
    return true;
}

static void handle_ping(struct service *service, struct handler_client *client,
                        const struct msg_request *request)
{
    const struct msg_response response = {
        .id = request->id,
        .kind = MSG_RESPONSE_PONG,
        .pong = {.now_ms = service_now_ms(service),
                 .clock_trusted = service_clock_trusted(service)},
    };
    client->events->respond(client, &response);
}

/* --- dispatch --------------------------------------------------------------------------------- */

static void handle_hello(struct service *service, struct handler_client *client,
                         const struct msg_request *request)
{
    (void)service;
    handler_refuse(client, request->id, MSG_INVALID, "hello",
                   "the connection was greeted already; Hello is sent once");
}

static void handle_unsupported(struct service *service, struct handler_client *client,
                               const struct msg_request *request)
{
    (void)service;
    if (request->name[0] == '\0') {
        handler_refuse(client, request->id, MSG_UNSUPPORTED, NULL,
                       "this server knows no such request; Welcome's capabilities lists those "
                       "that it serves");
    } else {
        handler_refuse(client, request->id, MSG_UNSUPPORTED, request->name,
                       "%s is not served here; Welcome's capabilities lists what is",
                       request->name);
    }
}

typedef void handle_function(struct service *service, struct handler_client *client,
                             const struct msg_request *request);

static handle_function *const handlers[] = {
    [MSG_REQUEST_UNKNOWN] = handle_unsupported,
    [MSG_REQUEST_HELLO] = handle_hello,
    [MSG_REQUEST_DEPOSIT] = handler_deposit,
    [MSG_REQUEST_QUERY] = handler_query,
    [MSG_REQUEST_GET] = handler_get,
    [MSG_REQUEST_WITHDRAW] = handler_withdraw,
    [MSG_REQUEST_PING] = handle_ping,
    [MSG_REQUEST_EXPORT] = handler_export,
    [MSG_REQUEST_SUMMARY] = handler_summary,
    [MSG_REQUEST_HERE] = handler_here,
    [MSG_REQUEST_REPORT] = handler_report,
    [MSG_REQUEST_REMOVE] = handler_remove,
    [MSG_REQUEST_RESTORE] = handler_restore,
    [MSG_REQUEST_REPORTED] = handler_reported,
    [MSG_REQUEST_BAN] = handler_ban,
    [MSG_REQUEST_UNBAN] = handler_unban,
    [MSG_REQUEST_BANS] = handler_bans,
    [MSG_REQUEST_ACCEPT] = handler_accept,
    [MSG_REQUEST_WATCH] = handler_watch,
    [MSG_REQUEST_UNWATCH] = handler_unwatch,
    [MSG_REQUEST_CHECK] = handler_check,
    [MSG_REQUEST_BACKUP] = handler_backup,
    [MSG_REQUEST_COMPACT] = handler_compact,
    [MSG_REQUEST_STATS] = handler_stats,
    [MSG_REQUEST_RELOAD] = handler_reload,
    [MSG_REQUEST_LOG_LEVEL] = handler_log_level,
    [MSG_REQUEST_KNOWN_ONLY] = NULL, /* so is what else is not served */
};

void handler_handle(struct service *service, struct handler_client *client,
                    const struct msg_request *request)
{
    handle_function *const handle = handlers[request->kind];

    if (handler_admit(service, client, request)) {
        (handle != NULL ? handle : handle_unsupported)(service, client, request);
    }
}
