/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_model.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "core/filter/bloom.h"
#include "tests/sim/sim_check.h"

static const int64_t minute_ms = 60 * 1000;
static const int64_t day_ms = INT64_C(24) * 3600 * 1000;

void model_init(struct model *model, const struct config *config)
{
    memset(model, 0, sizeof(*model));
    model->config = config;
    model->shift_saved_ms = INT64_MAX;
    model->messages = calloc(M_MESSAGES, sizeof(*model->messages));
    SIM_CHECK(model->messages != NULL && config->host_count <= M_HOSTS);
    for (size_t h = 0; h < config->host_count; h++) {
        struct m_host *host = &model->hosts[h];
        host->config = &config->hosts[h];
        host->filter_bytes = (uint32_t)bloom_bytes(host->config->profile.bits);
    }
}

void model_deinit(struct model *model)
{
    free(model->messages);
}

/* --- time ------------------------------------------------------------------------------------- */

static bool confirmed(const struct model *model)
{
    return model->synchronised || model->monotonic_ms - model->steady_since_ms >=
                                      (int64_t)model->config->clock_patience_s * 1000;
}

void model_tick(struct model *model, int64_t wall_ms, int64_t monotonic_ms, bool synchronised)
{
    const int64_t passed_ms = monotonic_ms - model->monotonic_ms;
    const int64_t step_ms = wall_ms - (model->wall_ms + passed_ms);

    model->now_ms += passed_ms;
    model->monotonic_ms = monotonic_ms;
    model->wall_ms = wall_ms;
    model->synchronised = synchronised;
    if (step_ms > minute_ms || step_ms < -minute_ms) {
        model->steady_since_ms = monotonic_ms;
    }
    model->clock_waits = wall_ms - model->now_ms > day_ms && !confirmed(model);
    if (wall_ms > model->now_ms && !model->clock_waits && model_due_ms(model) == 0) {
        model->now_ms = wall_ms;
    }
}

int64_t model_due_ms(const struct model *model)
{
    const int64_t ahead_ms = model->wall_ms - model->now_ms;

    return model->holds && !model->clock_waits && ahead_ms > minute_ms ? ahead_ms : 0;
}

void model_shift(struct model *model, int64_t before_ms, int64_t by_ms)
{
    model->shifts++;
    for (uint32_t i = 0; i < model->message_count; i++) {
        struct m_message *message = &model->messages[i];
        const bool moves = message->stored && message->deposited_ms >= model->shift_from_ms;
        const bool is_mark = message->removed && message->expires_ms > before_ms;

        message->moved = moves ? model->shifts : message->moved;
        message->deposited_ms += moves ? by_ms : 0;
        message->expires_ms += moves || is_mark ? by_ms : 0;
    }
    for (uint32_t i = 0; i < model->tombstone_count; i++) {
        int64_t *expires_ms = &model->tombstones[i].expires_ms;
        *expires_ms += *expires_ms > before_ms ? by_ms : 0;
    }
    for (size_t h = 0; h < model->config->host_count; h++) {
        for (uint32_t e = 0; e < model->hosts[h].epoch_count; e++) {
            int64_t *kept_ms = &model->hosts[h].epochs[e].kept_ms;
            *kept_ms += *kept_ms > before_ms ? by_ms : 0;
        }
    }
    model->now_ms += by_ms;
}

void model_loaded(struct model *model)
{
    model->holds = false;
    for (uint32_t i = 0; i < model->message_count; i++) {
        model->holds |=
            model->messages[i].stored && model->messages[i].deposited_ms >= model->shift_from_ms;
    }
    model_tick(model, model->wall_ms, model->monotonic_ms, model->synchronised);
}

bool model_clock_trusted(const struct model *model)
{
    return model->wall_ms >= INT64_C(1704067200000) && !model->clock_waits &&
           model_due_ms(model) == 0 && model->now_ms - model->wall_ms <= minute_ms &&
           confirmed(model);
}

/* What is there after a start: what the store has, of which nobody knows any more who sent it. */
static void start_message(struct model *model, struct m_message *message)
{
    message->served = message->stored && message->expires_ms > model->now_ms &&
                      m_epoch(model, message->host, message->epoch) != NULL;
    message->shown = message->served && message->state < PERSIST_HIDDEN;
    message->sender = 0;
    message->share_at = 0;
    message->leaving = false;
    message->reporting = 0;
    message->uncounted = message->own = message->grave = 0;
    for (uint32_t i = 0; i < message->reason_count; i++) {
        message->grave += message->reasons[i] == M_REASON_GRAVE;
    }
    message->is_beyond = false;
    message->is_hiding = false;
    message->looked_at =
        message->served && (message->state != PERSIST_SHOWN || message->reports > 0);
}

void model_start(struct model *model, int64_t saved_ms, int64_t wall_ms, int64_t monotonic_ms,
                 bool synchronised)
{
    model->now_ms = saved_ms > 0 ? saved_ms : wall_ms;
    if (model->now_ms < 0) {
        model->now_ms = 0; /* a wall clock before 1970 counts as 1970 */
    }
    model->shift_from_ms = (saved_ms > 0 ? saved_ms : 0) + 1;
    model->holds = model->shift_saved_ms < model->shift_from_ms;
    model->shift_from_ms = model->holds ? model->shift_saved_ms : model->shift_from_ms;
    model->wall_ms = wall_ms;
    model->monotonic_ms = model->steady_since_ms = monotonic_ms;
    model->waiting_count = 0;
    model->reporter_count = 0;
    model->hide_count = 0;
    model->newest = model->seq;
    memset(model->connections, 0, sizeof(model->connections));
    model_tick(model, wall_ms, monotonic_ms, synchronised);
    for (unsigned s = 0; s < M_SENDERS; s++) {
        model->buckets[s][0] = (struct m_bucket){
            .tokens = (int64_t)model->config->limits.deposit_burst * 60000, .at_ms = monotonic_ms};
        model->buckets[s][1] = (struct m_bucket){
            .tokens = (int64_t)model->config->limits.query_burst * 60000, .at_ms = monotonic_ms};
    }
    for (size_t h = 0; h < model->config->host_count; h++) {
        struct m_host *host = &model->hosts[h];
        host->current = 0;
        host->beginning = false;
        for (uint32_t e = 0; e < host->epoch_count; e++) {
            struct m_epoch *epoch = &host->epochs[e];
            epoch->over = !epoch->stored || epoch->kept_ms <= model->now_ms;
            host->current = epoch->over ? host->current : e + 1;
        }
    }
    for (uint32_t i = 0; i < model->message_count; i++) {
        start_message(model, &model->messages[i]);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

uint32_t m_bits(const uint8_t *a, const uint8_t *b, uint32_t count, bool either)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < count; i++) {
        bits += (uint32_t)__builtin_popcount(either ? a[i] | b[i] : a[i] & b[i]);
    }
    return bits;
}

/* The texts are of different lengths; the first is empty. */
uint32_t m_payload_bytes(uint32_t payload)
{
    return payload * 37 % 400;
}

const char *m_payload_text(uint32_t payload)
{
    static char text[512];

    memset(text, 'a' + (int)(payload % 26), sizeof(text));
    (void)snprintf(text, sizeof(text), "%u", payload);
    text[strlen(text)] = '.';
    return text;
}

void m_payload_hash(uint32_t payload, uint8_t *out)
{
    (void)crypto_generichash(out, LIMIT_HASH_BYTES, (const uint8_t *)m_payload_text(payload),
                             m_payload_bytes(payload), NULL, 0);
}

uint32_t m_bytes(const struct model *model, const struct m_message *message)
{
    return model->hosts[message->host].filter_bytes + (uint32_t)strlen("text/plain") +
           m_payload_bytes(message->payload);
}

static bool is_it(const struct m_message *message, uint32_t host, const uint8_t *id)
{
    return message->host == host && memcmp(message->id, id, MESSAGE_ID_BYTES) == 0;
}

struct m_message *m_stored(struct model *model, uint32_t host, const uint8_t *id)
{
    for (uint32_t i = model->message_count; i-- > 0;) {
        if (model->messages[i].stored && is_it(&model->messages[i], host, id)) {
            return &model->messages[i];
        }
    }
    return NULL;
}

struct m_message *m_served(struct model *model, uint32_t host, const uint8_t *id)
{
    for (uint32_t i = model->message_count; i-- > 0;) {
        if (model->messages[i].served && is_it(&model->messages[i], host, id)) {
            return &model->messages[i];
        }
    }
    return NULL;
}

bool m_removed(const struct model *model, uint32_t host, const uint8_t *id)
{
    for (uint32_t i = 0; i < model->message_count; i++) {
        const struct m_message *one = &model->messages[i];
        if (one->removed && !one->served && one->expires_ms > model->now_ms &&
            is_it(one, host, id)) {
            return true;
        }
    }
    return false;
}

bool m_visible(const struct model *model, const struct m_message *message)
{
    return message->served && message->shown && message->expires_ms > model->now_ms;
}

struct m_epoch *m_epoch(struct model *model, uint32_t host, uint64_t number)
{
    static struct m_epoch open = {.stored = true, .kept_ms = INT64_MAX};

    if (number == 0) {
        return &open;
    }
    for (uint32_t e = 0; e < model->hosts[host].epoch_count; e++) {
        struct m_epoch *epoch = &model->hosts[host].epochs[e];
        if (epoch->number == number && !epoch->over && epoch->kept_ms > model->now_ms) {
            return epoch;
        }
    }
    return NULL;
}

void m_usage(const struct model *model, uint32_t host, uint64_t *out_messages, uint64_t *out_bytes)
{
    *out_messages = *out_bytes = 0;
    for (uint32_t i = 0; i < model->message_count; i++) {
        const struct m_message *message = &model->messages[i];
        if (message->served && (host == M_HOSTS || message->host == host)) {
            *out_messages += 1;
            *out_bytes += m_bytes(model, message);
        }
    }
    for (uint32_t i = 0; i < model->waiting_count; i++) {
        if (host == M_HOSTS || model->waiting[i].host == host) {
            *out_messages += 1;
            *out_bytes += model->waiting[i].bytes;
        }
    }
}

/* How much too much there would be. */
static uint64_t over(uint64_t used, uint64_t going, uint64_t more, uint64_t most)
{
    used = used > going ? used - going : 0;
    return used + more > most ? used + more - most : 0;
}

int m_room(const struct model *model, struct m_waiting *asked)
{
    uint64_t used[2][2]; /* of the host, of all: messages, bytes */
    uint64_t going[2][2] = {{asked->own_messages, asked->own_bytes},
                            {asked->own_messages, asked->own_bytes}};
    const uint32_t host = asked->host;
    const uint64_t bytes = asked->bytes;
    const struct config_host *own = model->hosts[host].config;
    const struct hearsay_limits *all = &model->config->limits;

    m_usage(model, host, &used[0][0], &used[0][1]);
    m_usage(model, M_HOSTS, &used[1][0], &used[1][1]);
    for (uint32_t i = 0; i < model->waiting_count; i++) {
        const struct m_waiting *waiting = &model->waiting[i];
        for (int w = waiting->host == host ? 0 : 1; w < 2; w++) {
            going[w][0] += waiting->need_messages + waiting->own_messages;
            going[w][1] += waiting->need_bytes + waiting->own_bytes;
        }
    }
    const uint64_t messages = over(used[0][0], going[0][0], 1, own->messages_max);
    const uint64_t messages_all = over(used[1][0], going[1][0], 1, all->messages);
    const uint64_t own_bytes = over(used[0][1], going[0][1], bytes, own->bytes_max);
    const uint64_t bytes_all = over(used[1][1], going[1][1], bytes, all->bytes);
    asked->need_messages = messages > messages_all ? messages : messages_all;
    asked->need_bytes = own_bytes > bytes_all ? own_bytes : bytes_all;
    if (asked->need_messages == 0 && asked->need_bytes == 0) {
        return 0;
    }
    return own->evict == CONFIG_EVICT_REJECT || asked->need_messages > 64 - asked->own_count ||
                   going[0][0] + asked->need_messages > used[0][0] || bytes > own->bytes_max ||
                   bytes > all->bytes
               ? 2
               : 1;
}

void m_forget(struct model *model, uint32_t host, const uint8_t *id)
{
    struct m_message *message = m_served(model, host, id);

    if (message != NULL) {
        message->served = message->shown = message->looked_at = false;
    }
    m_share_remove(model, host, id);
}

/* --- rules ------------------------------------------------------------------------------------ */

enum accept m_accept(const struct model *model, uint32_t host, const char **out_source,
                     int64_t *out_until_ms)
{
    const struct m_host *own = &model->hosts[host];
    const uint32_t minute = (uint32_t)(model->now_ms / minute_ms % DAY_MINUTES); /* TZ is UTC */

    *out_until_ms = 0;
    *out_source = "operator";
    if (own->has_mode) {
        return own->mode;
    }
    *out_source = "schedule";
    for (size_t i = 0; i < own->config->schedule_count; i++) {
        const struct schedule_entry *entry = &own->config->schedule[i];
        const uint32_t length = ((uint32_t)entry->to + DAY_MINUTES - entry->from) % DAY_MINUTES;
        const uint32_t in = (minute + DAY_MINUTES - entry->from) % DAY_MINUTES;
        if (in < length) {
            *out_until_ms = (model->now_ms / minute_ms + length - in) * minute_ms;
            return entry->mode;
        }
    }
    *out_source = "configuration";
    for (uint32_t ahead = 1; ahead <= DAY_MINUTES && *out_until_ms == 0; ahead++) {
        for (size_t i = 0; i < own->config->schedule_count; i++) {
            const struct schedule_entry *entry = &own->config->schedule[i];
            if (entry->from == (minute + ahead) % DAY_MINUTES &&
                entry->mode != own->config->accept) {
                *out_until_ms = (model->now_ms / minute_ms + ahead) * minute_ms;
            }
        }
    }
    return own->config->accept;
}

int m_banned(const struct model *model, uint32_t host, const uint8_t *filter, uint32_t payload)
{
    const struct m_host *own = &model->hosts[host];
    uint8_t hash[LIMIT_HASH_BYTES];
    int banned = 0;

    m_payload_hash(payload, hash);
    for (uint32_t i = 0; i < own->ban_count; i++) {
        const struct m_ban *ban = &own->bans[i];
        const uint64_t both = m_bits(ban->value, filter, own->filter_bytes, false);
        const uint64_t either = m_bits(ban->value, filter, own->filter_bytes, true);
        if (ban->is_payload && memcmp(ban->value, hash, sizeof(hash)) == 0) {
            banned |= 1;
        }
        if (!ban->is_payload && (either - both) * 1000000 <= either * ban->max_distance_ppm) {
            banned |= 2;
        }
    }
    return banned;
}

static struct m_ban *find_ban(struct m_host *host, const struct m_ban *ban)
{
    for (uint32_t i = 0; i < host->ban_count; i++) {
        if (host->bans[i].is_payload == ban->is_payload &&
            memcmp(host->bans[i].value, ban->value,
                   ban->is_payload ? LIMIT_HASH_BYTES : host->filter_bytes) == 0) {
            return &host->bans[i];
        }
    }
    return NULL;
}

void m_put_ban(struct m_host *host, const struct m_ban *ban)
{
    struct m_ban *there = find_ban(host, ban);

    SIM_CHECK(there != NULL || host->ban_count < M_BANS);
    *(there != NULL ? there : &host->bans[host->ban_count++]) = *ban;
}

bool m_drop_ban(struct m_host *host, const struct m_ban *ban)
{
    struct m_ban *there = find_ban(host, ban);

    if (there == NULL) {
        return false;
    }
    memmove(there, there + 1, (size_t)(host->bans + host->ban_count - (there + 1)) * sizeof(*ban));
    host->ban_count--;
    return true;
}

uint64_t m_take_tokens(struct model *model, uint32_t sender, bool is_deposit, uint32_t cost)
{
    const struct hearsay_limits *limits = &model->config->limits;
    const int64_t rate = is_deposit ? limits->deposits_per_minute : limits->queries_per_minute;
    const int64_t burst = is_deposit ? limits->deposit_burst : limits->query_burst;
    struct m_bucket *bucket = &model->buckets[sender][is_deposit ? 0 : 1];
    const int64_t wanted = (cost < burst ? cost : burst) * 60000;

    if (sender == 0 || rate == 0) {
        return 0;
    }
    bucket->tokens += (model->monotonic_ms - bucket->at_ms) * rate;
    bucket->tokens = bucket->tokens < burst * 60000 ? bucket->tokens : burst * 60000;
    bucket->at_ms = model->monotonic_ms;
    if (bucket->tokens >= wanted) {
        bucket->tokens -= wanted;
        return 0;
    }
    return (uint64_t)((wanted - bucket->tokens + rate - 1) / rate);
}

bool m_may_read_page(struct model *model, uint32_t sender)
{
    const struct m_bucket before = model->buckets[sender][1];
    const uint32_t cost = 1 + model->config->limits.query_burst / 4;
    const bool may = m_take_tokens(model, sender, false, cost) == 0;

    model->buckets[sender][1] = before;
    return may;
}
