/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"
#include "core/base/hash.h"
#include "core/filter/bloom.h"
#include "core/profile/phi.h"
#include "daemon/host/service.h"
#include "daemon/system/read_pool.h"

int host_init(struct host *host, const struct config_host *config, uint32_t number,
              const struct alloc *alloc, const struct bits_kernels *kernels, uint64_t hash_seed)
{
    memset(host, 0, sizeof(*host));
    host->alloc = alloc;
    host->config = *config;
    host->number = number;
    rules_init(&host->rules, alloc);
    moderation_init(&host->moderation, alloc, hash_seed);
    shares_init(&host->shares, alloc, hash_seed);
    answers_init(&host->answers, alloc, hash_seed);
    host->filter_bytes = bloom_bytes(config->profile.bits);
    host->filter_words = bloom_words(config->profile.bits);
    profile_print(&config->profile, host->profile_text);

    host->index_options = (struct index_options){
        .alloc = alloc,
        .profile = &host->config.profile,
        .kernels = kernels,
        .hash_seed = hash_seed,
    };
    int rc = epoch_new(NULL, &host->index_options, &host->epochs[0]);
    if (rc != 0) {
        host_deinit(host);
        return rc;
    }
    host->epoch_count = 1;
    return 0;
}

void host_deinit(struct host *host)
{
    here_free(host->here);
    here_map_free(host->here_map);
    standing_free(host->standing);
    host_groups_deinit(host);
    for (size_t i = 0; i < host->epoch_count; i++) {
        epoch_free(host->epochs[i], host->alloc);
    }
    rules_deinit(&host->rules);
    moderation_deinit(&host->moderation);
    shares_deinit(&host->shares);
    answers_deinit(&host->answers);
    hide_rate_deinit(&host->hide_rate, host->alloc);
    hide_rate_deinit(&host->hidden_rate, host->alloc);
    hide_rate_deinit(&host->grave_rate, host->alloc);
    removed_deinit(&host->removed, host->alloc);
    memset(host, 0, sizeof(*host));
}

size_t host_here(const struct host *host, const struct here_address *address, bool is_here,
                 struct hearsay_text *buffer, const struct hearsay_text **out_labels)
{
    size_t count = here_map_find(host->here_map, address, buffer);

    *out_labels = count > 0 ? buffer : host->here->labels;
    return count > 0 || !is_here ? count : host->here->count;
}

bool host_is_neighbour(const struct host *host, const struct host *other)
{
    return other != host && host->config.hood[0] != '\0' &&
           strcmp(host->config.hood, other->config.hood) == 0;
}

bool host_has_feed(const struct host *host)
{
    return host->config.replicate || host->config.is_replica;
}

bool host_is_restoring(const struct host *host)
{
    return host->config.replicate && !host->config.is_replica && !host->rules.is_restored;
}

struct epoch *host_epoch(const struct host *host, uint64_t number)
{
    for (size_t i = 0; i < host->epoch_count; i++) {
        if (host->epochs[i]->number == number && !host->epochs[i]->is_over) {
            return host->epochs[i];
        }
    }
    return NULL;
}

void host_add_epoch(struct host *host, struct epoch *epoch)
{
    assert(host->epoch_count < HOST_EPOCHS_MAX);
    host->epochs[host->epoch_count++] = epoch;
    host->current = epoch;
}

void host_drop_epochs(struct host *host)
{
    size_t kept = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        struct epoch *epoch = host->epochs[i];
        if (epoch->is_over && epoch->users == 0 && index_count(epoch->index) == 0) {
            epoch_free(epoch, host->alloc);
        } else {
            host->epochs[kept++] = epoch;
        }
    }
    host->epoch_count = kept;
}

uint32_t host_message_bytes(const struct persist_message *message)
{
    /* Each of the three sizes is bounded far below 2^30 by its caller. */
    return (uint32_t)(message->filter_bytes + message->media_type_bytes + message->payload_bytes);
}

static int admit_answer(struct host *host, const struct persist_message *message,
                        const struct index_item *item)
{
    struct answer answer = {
        .item = *item, .epoch = message->epoch, .is_shown = message->state < PERSIST_HIDDEN};

    memcpy(answer.parent, message->answers, MESSAGE_ID_BYTES);
    return answers_put(&host->answers, &answer);
}

int host_admit(struct host *host, const struct persist_message *message)
{
    struct epoch *epoch = host_epoch(host, message->epoch);
    uint64_t filter[PROFILE_WORDS_MAX];
    struct index_item item = {
        .deposited_ms = message->deposited_ms,
        .expires_ms = message->expires_ms,
        .reach_ppm = message->reach_ppm,
        .sender = message->sender,
        .bytes = host_message_bytes(message),
    };

    if (epoch == NULL) {
        return HOST_NO_EPOCH;
    }
    if (bloom_load(filter, host->config.profile.bits, message->filter, message->filter_bytes) !=
        0) {
        return -ERR_DAMAGED;
    }
    memcpy(item.id, message->id, sizeof(item.id));
    if (message->is_answer) {
        return admit_answer(host, message, &item);
    }
    read_pool_pause(host->read_pool);
    int rc = index_insert(epoch->index, &item, filter);
    if (rc == 0) {
        summary_add(&epoch->summary, filter);
        if (epoch->number == 0) {
            host_groups_add(host, filter, item.deposited_ms);
        }
    }
    return rc == INDEX_EXISTS ? 0 : rc;
}

/* Finds a message in the indexes of all epochs. */
static int find_indexed(const struct host *host, const uint8_t *id, struct epoch **out_epoch,
                        struct index_item *out_item, uint64_t *out_filter)
{
    for (size_t i = host->epoch_count; i-- > 0;) { /* the newest epoch first */
        if (index_find(host->epochs[i]->index, id, out_item, out_filter) == 0) {
            if (out_epoch != NULL) {
                *out_epoch = host->epochs[i];
            }
            return 0;
        }
    }
    return INDEX_NOT_FOUND;
}

int host_find(const struct host *host, const uint8_t *id, struct epoch **out_epoch,
              struct index_item *out_item, uint64_t *out_filter)
{
    const struct answer *answer = answers_find(&host->answers, id);
    struct index_item parent;

    if (answer == NULL) {
        return find_indexed(host, id, out_epoch, out_item, out_filter);
    }
    if (!answer->is_shown ||
        find_indexed(host, answer->parent, out_epoch, &parent, out_filter) != 0) {
        return INDEX_NOT_FOUND;
    }
    if (out_item != NULL) {
        *out_item = answer->item;
        if (parent.expires_ms < out_item->expires_ms) { /* the clock was set since */
            out_item->expires_ms = parent.expires_ms;
        }
    }
    return 0;
}

void host_note_bits(const struct host *host, const uint64_t *filter, struct hearsay_result *out)
{
    const struct profile *profile = &host->config.profile;
    uint16_t counts[PROFILE_SECTIONS_MAX];

    phi_count(profile, filter, counts);
    out->set_bit_count = profile->section_count;
    for (uint32_t s = 0; s < profile->section_count; s++) {
        out->set_bits[s] = counts[s];
    }
}

const uint8_t *host_parent(const struct host *host, const uint8_t *id)
{
    const struct answer *answer = answers_find(&host->answers, id);

    return answer != NULL ? answer->parent : NULL;
}

bool host_item(const struct host *host, const uint8_t *id, struct index_item *out_item)
{
    const struct answer *answer = answers_find(&host->answers, id);

    if (answer != NULL) {
        *out_item = answer->item;
    }
    return answer != NULL || find_indexed(host, id, NULL, out_item, NULL) == 0;
}

uint64_t host_scope(const struct host *host, uint64_t epoch, const uint8_t *parent)
{
    /* No epoch has so high a number: it is a time in milliseconds. */
    return parent == NULL ? epoch
                          : hash_seeded(parent, MESSAGE_ID_BYTES, host->index_options.hash_seed) |
                                UINT64_C(1) << 63;
}

bool host_has(const struct host *host, const uint8_t *id, int64_t now_ms)
{
    struct index_item item;

    if (host_item(host, id, &item)) {
        return !message_expired(item.expires_ms, now_ms);
    }
    const struct moderated *moderated = moderation_find(&host->moderation, id);
    return moderated != NULL && !message_expired(moderated->expires_ms, now_ms);
}

int host_remove(struct host *host, const uint8_t *id, struct index_item *out_item)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    struct epoch *epoch = NULL;

    if (answers_remove(&host->answers, id, out_item)) {
        return 0;
    }
    int rc = find_indexed(host, id, &epoch, NULL, filter);

    if (rc == 0) {
        read_pool_pause(host->read_pool);
        rc = index_remove(epoch->index, id, out_item);
    }
    if (rc == 0) {
        summary_remove(&epoch->summary, filter);
        if (epoch->number == 0) {
            host_groups_remove(host);
        }
    }
    return rc;
}

void host_hide(struct host *host, const uint8_t *id)
{
    struct answer *answer = answers_find(&host->answers, id);

    if (answer != NULL) {
        answer->is_shown = false;
    } else {
        (void)host_remove(host, id, NULL); /* fine when it is hidden already */
    }
}

void host_shift(struct host *host, int64_t before_ms, int64_t from_ms, int64_t by_ms)
{
    host->feed.turn++; /* times are changes */
    read_pool_pause(host->read_pool);
    for (size_t i = 0; i < host->epoch_count; i++) {
        struct epoch *epoch = host->epochs[i];

        index_shift(epoch->index, from_ms, by_ms);
        epoch->kept_ms += epoch->kept_ms > before_ms ? by_ms : 0; /* epoch 0 does not use it */
    }
    for (uint32_t i = 0; i < host->moderation.count; i++) {
        struct moderated *moderated = &host->moderation.entries[i];
        bool moves = moderated->deposited_ms >= from_ms;
        bool removal_moves = moderated->destroy_ms > 0 && moderated->removed_ms >= from_ms;

        moderated->deposited_ms += moves ? by_ms : 0;
        moderated->expires_ms += moves ? by_ms : 0;
        moderated->destroy_ms += removal_moves ? by_ms : 0;
        moderated->removed_ms += removal_moves ? by_ms : 0;
    }
    for (uint32_t i = 0; i < host->removed.count; i++) {
        struct removed_id *removed = &host->removed.list[i];

        removed->expires_ms += removed->expires_ms > before_ms ? by_ms : 0;
    }
    answers_shift(&host->answers, from_ms, by_ms);
    rules_shift(&host->rules, from_ms, by_ms);
    host->shifts++;
    host_groups_shift(host, from_ms, by_ms);
}

void usage_add(struct usage *usage, uint64_t bytes)
{
    usage->messages += 1;
    usage->bytes += bytes;
}

void usage_subtract(struct usage *usage, uint64_t bytes)
{
    usage->messages -= 1;
    usage->bytes -= bytes;
}
