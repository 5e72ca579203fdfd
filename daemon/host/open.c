/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a service, opens its hosts, changes its configuration, and frees it. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"
#include "daemon/host/service.h"
#include "daemon/system/container.h"

enum {
    /*
     * Upper bound of the arena's memory for one request or response. It is enough for 1,000
     * results.
     */
    ARENA_BYTES_MAX = 4 * 1024 * 1024,
    /*
     * How often an address gets an error message that says why its connection is refused. Above
     * this rate its refused connections are closed without a message.
     */
    TOLD_PER_MINUTE = 60,
    TOLD_BURST = 16,
    /*
     * The rate of errors that an address gets for requests over a rate limit. Such a request costs
     * the address one token, and one more for each full KiB of the request. When the address has
     * too few tokens, the session takes no request until the next second.
     */
    OVER_BURST = 128,
    OVER_PER_MINUTE = 60 * OVER_BURST
};

/* --- loading ---------------------------------------------------------------------------------- */

struct loading {
    struct service *service;
    int64_t now_ms; /* the host's clock when loading began */
    uint64_t loaded;
    uint64_t homeless; /* stored messages of hosts that are not configured */
    bool moves;        /* messages, removals or rules move with the host's clock */
};

static int load_message(void *context, const struct persist_message *message)
{
    struct loading *loading = context;
    struct service *service = loading->service;
    struct host *host = service_host_numbered(service, message->host);

    loading->moves |=
        message->destroy_ms > 0 && message->removed_ms >= service->clock.shift_from_ms;
    if (message->deposited_ms >= service->clock.shift_from_ms) {
        loading->moves = true;
        service->shift_seq = message->seq < service->shift_seq ? message->seq : service->shift_seq;
    }
    if (host == NULL) {
        loading->homeless++;
        return 0;
    }
    if (message_expired(message->expires_ms, loading->now_ms)) {
        return 0; /* the sweep deletes the message */
    }
    int rc = service_keep(service, host, message);
    loading->loaded += rc == 0;
    return rc == HOST_NO_EPOCH ? 0 : rc; /* the sweep deletes the message later */
}

static int load_rule(void *context, const struct persist_rule *rule)
{
    struct host *host = service_host_numbered(context, rule->host);
    struct persist_rule own = *rule;
    uint32_t number = 0;

    /* A file that hearsayd has not written may have more rules than there is room for, and two
     * notices of one number. */
    if (host == NULL || !rules_have_room(&host->rules, rule)) {
        return 0;
    }
    if (rule->kind == PERSIST_NOTICE) {
        number = own.number = rules_take_number(&host->rules, rule);
    }
    int rc = rules_put(&host->rules, &own);
    rules_give_number(&host->rules, number);
    return rc;
}

static int load_removed(void *context, const struct persist_message *message)
{
    struct host *host = service_host_numbered(context, message->host);

    return host == NULL
               ? 0
               : removed_put(&host->removed, host->alloc, message->id, message->expires_ms);
}

/*
 * All stored messages will be those of one index, as in most places: it makes room for them. If
 * there is no memory for that, it grows as they come.
 */
static void expect_messages(struct service *service)
{
    uint64_t messages = service->store.messages;

    if (service->host_count == 1 && service->hosts[0].epoch_count == 1 && messages <= UINT32_MAX) {
        (void)index_expect(service->hosts[0].epochs[0]->index, (size_t)messages);
    }
}

static int load_all(struct service *service, char *out_reason)
{
    struct loading loading = {.service = service, .now_ms = service_now_ms(service)};

    int begun = epochs_load(service, out_reason);
    if (begun != 0) {
        return begun;
    }
    expect_messages(service);
    int rc =
        service->persist->interface->replay(service->persist, load_message, &loading, out_reason);
    if (rc != 0) {
        if (out_reason[0] == '\0') {
            snprintf(out_reason, CONFIG_REASON_BYTES, "loading messages: %s", err_text(rc));
        }
        return rc;
    }
    log_info("loaded %" PRIu64 " message%s", loading.loaded, loading.loaded == 1 ? "" : "s");
    for (size_t i = 0; i < service->host_count; i++) {
        struct rules *rules = &service->hosts[i].rules;

        loading.moves |= rules_move(rules, service->clock.shift_from_ms);
        rules->has_news = false; /* a gateway gets the notices behind its greeting */
    }
    service->clock.holds = loading.moves;
    arrange_loaded(&service->arrange, service->hosts, service->host_count,
                   service_monotonic_ms(service));
    if (loading.homeless > 0) {
        log_warning("stored messages of hosts that are not configured, which are kept and not "
                    "served: %" PRIu64 "; if a [host NAME] was renamed, give it its name back",
                    loading.homeless);
    }
    return 0;
}

/* --- hosts ------------------------------------------------------------------------------------ */

/*
 * Makes the host of this configuration and appends it to service->hosts. `number` is its number in
 * the store.
 */
static int put_host(struct service *service, const struct config_host *config, uint32_t number,
                    char *out_reason)
{
    struct host *host = &service->hosts[service->host_count];
    bool changed = false;

    int rc = host_init(host, config, number, service->alloc, service->kernels,
                       service->hash_seed + service->host_count);
    if (rc != 0) {
        return rc;
    }
    host->read_pool = service->read_pool;
    rc = service_set_here(service, host, &(struct hearsay_text){0}, &changed, out_reason);
    if (rc != 0) {
        host_deinit(host);
        return rc;
    }
    service->host_count++;
    return 0;
}

static int add_host(struct service *service, const struct config_host *config, char *out_reason)
{
    char text[PROFILE_TEXT_MAX];
    char stored[PROFILE_TEXT_MAX] = "";
    uint32_t number = 0;

    profile_print(&config->profile, text);
    int rc = service->persist->interface->add_host(service->persist, config->name, text, &number,
                                                   stored, out_reason);
    if (rc == PERSIST_PROFILE_CHANGED) {
        struct settings_source source = {
            .name = service->config.common.file[0] != '\0' ? service->config.common.file
                                                           : "configuration",
            .line = config->profile_line != 0 ? config->profile_line : config->line,
            .reason = out_reason,
        };
        return settings_refuse(
            &source,
            "host %s: the profile is %s here, but its stored messages have %s; "
            "set `profile` to that of the messages, or use another data directory",
            config->name, text, stored);
    }
    return rc != 0 ? rc : put_host(service, config, number, out_reason);
}

static void on_replicate(struct persist_op *op)
{
    struct host *host = CONTAINER_OF(op, struct host, feed.op);
    struct service *service = host->feed.service;

    if (op->outcome != PERSIST_APPLIED && op->outcome != PERSIST_DUPLICATE) {
        service_storage_failed(service, "numbering the changes of a host", op->reason);
    }
    service_work_end(service);
}

/* Lets the store number the changes of a host that has copies. */
static void begin_feed(struct service *service, struct host *host)
{
    if (host_has_feed(host)) {
        host->feed.service = service;
        host->feed.op = (struct persist_op){
            .kind = PERSIST_REPLICATE,
            .message = {.host = host->number},
            .replicate = true,
            .now_ms = service_now_ms(service),
            .done = on_replicate,
        };
        service_submit(service, &host->feed.op);
    }
}

static void open_hosts(struct service *service);

static void on_host_made(struct persist_op *op)
{
    struct service *service = CONTAINER_OF(op, struct service, opening.op);
    const struct config_host *config = &service->config.hosts[service->host_count];
    char reason[CONFIG_REASON_BYTES] = "";

    service->opening.under_way = false;
    service_work_end(service);
    if (op->outcome == PERSIST_CONFLICT) {
        log_error("host %s is not opened: the store has it from before; restart, which loads its "
                  "messages",
                  config->name);
        return;
    }
    if (op->outcome != PERSIST_APPLIED) {
        log_error("host %s is not opened: %s; reload again, or restart", config->name,
                  op->reason != NULL ? op->reason : "the store failed");
        return;
    }
    int rc = put_host(service, config, op->message.host, reason);
    if (rc != 0) {
        log_error("host %s is not opened: %s; restart", config->name,
                  reason[0] != '\0' ? reason : err_text(rc));
        return;
    }
    log_info("host %s is open", config->name);
    begin_feed(service, &service->hosts[service->host_count - 1]);
    if (service->control != NULL) {
        service->control->host_opened(service->control->context);
    }
    open_hosts(service);
}

/* Begins to open the next host of the configuration that is not open yet. */
static void open_hosts(struct service *service)
{
    if (service->opening.under_way || service->stopping ||
        service->host_count >= service->config.host_count) {
        return;
    }
    const struct config_host *config = &service->config.hosts[service->host_count];
    memcpy(service->opening.name, config->name, sizeof(service->opening.name));
    profile_print(&config->profile, service->opening.profile);
    service->opening.op = (struct persist_op){
        .kind = PERSIST_HOST,
        .now_ms = service_now_ms(service),
        .host_name = service->opening.name,
        .host_profile = service->opening.profile,
        .done = on_host_made,
    };
    service->opening.under_way = true;
    service_submit(service, &service->opening.op);
}

/* --- beginning and end ------------------------------------------------------------------------ */

/*
 * Chooses the kernels: the functions for words of filters (core/bits). The environment variable
 * HEARSAY_CPU chooses the level, for measurements and for finding faults.
 */
static const struct bits_kernels *choose_kernels(void)
{
    enum bits_level level = BITS_BEST;
    const char *wanted = getenv("HEARSAY_CPU");

    if (wanted != NULL && bits_level_parse(wanted, &level) != 0) {
        log_warning("HEARSAY_CPU is none of " BITS_LEVEL_NAMES "; ignored");
    }
    const struct bits_kernels *kernels = bits_select(level);
    log_debug("kernels: %s", kernels->name);
    return kernels;
}

static void set_sender_limits(struct service *service)
{
    const struct hearsay_limits *limits = &service->config.limits;

    service->sender_limits = (struct sender_limits){
        .connections = config_sessions_of_address(limits),
        .rates = {[SENDER_DEPOSIT] = {limits->deposits_per_minute, limits->deposit_burst},
                  [SENDER_QUERY] = {limits->queries_per_minute, limits->query_burst},
                  [SENDER_TOLD] = {TOLD_PER_MINUTE, TOLD_BURST},
                  [SENDER_OVER] = {OVER_PER_MINUTE, OVER_BURST}},
    };
}

/* Fills the hosts with what the store has. */
static int load_store(struct service *service, char *out_reason)
{
    const struct persist_interface *interface = service->persist->interface;
    int rc = interface->replay_rules(service->persist, load_rule, service, out_reason);

    if (rc == 0) {
        rc = interface->replay_removed(service->persist, load_removed, service, out_reason);
    }
    if (rc == 0) {
        rc = load_all(service, out_reason);
    }
    for (size_t i = 0; rc == 0 && i < service->host_count; i++) {
        begin_feed(service, &service->hosts[i]);
    }
    return rc;
}

int service_new(const struct service_options *options, struct service **out_service,
                char *out_reason)
{
    int rc = -ERR_NOMEM;

    out_reason[0] = '\0';
    struct service *service = alloc_zeroed(options->alloc, 1, sizeof(*service));
    if (service == NULL) {
        snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
        return rc;
    }
    service->alloc = options->alloc;
    block_pool_init(&service->cursors, options->alloc);
    service->config = *options->config;
    service->persist = options->persist;
    service->read_wall_ms = options->read_wall_ms;
    service->read_monotonic_ms = options->read_monotonic_ms;
    service->clock_synchronised = options->clock_synchronised;
    service->clock_context = options->clock_context;
    service->read_ns = options->read_ns;
    service->control = options->control;
    service->read_pool = options->read_pool;
    service->hash_seed = options->hash_seed;
    metrics_init(&service->metrics, (int64_t)(service_monotonic_ns(service) / 1000000));
    service->kernels = choose_kernels();
    arena_init(&service->arena, options->alloc, ARENA_BYTES_MAX);
    arrange_init(&service->arrange, options->worker, &service->working);
    service->persist->interface->info(service->persist, &service->store);
    service_start_clock(service);

    set_sender_limits(service);
    rc = senders_new(options->alloc, service->config.addresses, options->sender_key,
                     &service->senders);
    if (rc != 0) {
        goto fail;
    }
    rc = -ERR_NOMEM;
    service->cache = cache_new(service->config.cache_bytes);
    /* One allocation for the largest number of hosts, since a host may not be moved. */
    service->hosts = alloc_zeroed(options->alloc, LIMIT_HOSTS, sizeof(*service->hosts));
    if (service->cache == NULL || service->hosts == NULL) {
        goto fail;
    }
    for (size_t i = 0; i < service->config.host_count; i++) {
        rc = add_host(service, &service->config.hosts[i], out_reason);
        if (rc != 0) {
            goto fail;
        }
    }
    rc = load_store(service, out_reason);
    if (rc != 0) {
        goto fail;
    }
    *out_service = service;
    return 0;

fail:
    if (out_reason[0] == '\0') {
        snprintf(out_reason, CONFIG_REASON_BYTES, "%s", err_text(rc));
    }
    service_free(service);
    return rc;
}

void service_free(struct service *service)
{
    if (service == NULL) {
        return;
    }
    assert(service->watch == NULL); /* watch_deinit comes first */
    for (size_t i = 0; i < service->host_count; i++) {
        epochs_deinit(&service->hosts[i]);
        host_deinit(&service->hosts[i]);
    }
    alloc_release(service->alloc, service->hosts);
    cache_free(service->cache);
    alloc_release(service->alloc, service->reports);
    senders_free(service->senders);
    arena_deinit(&service->arena);
    block_pool_clear(&service->cursors);
    alloc_release(service->alloc, service);
}

void service_reload(struct service *service, const struct config *config)
{
    service->config = *config;
    for (size_t i = 0; i < service->host_count; i++) {
        service->hosts[i].config = config->hosts[i];
    }
    set_sender_limits(service);
    cache_set_limit(service->cache, config->cache_bytes);
    open_hosts(service);
}
