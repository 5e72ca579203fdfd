/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/expiry.h"
#include "core/filter/bloom.h"

static void check_tell(struct check_problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void check_tell(struct check_problems *problems, const char *format, ...)
{
    va_list arguments;

    if (problems->count < CHECK_PROBLEMS_MAX) {
        va_start(arguments, format);
        (void)vsnprintf(problems->sentences[problems->count], CHECK_PROBLEM_BYTES, format,
                        arguments); /* a cut sentence still helps */
        va_end(arguments);
    }
    problems->count++;
}

/* --- messages --------------------------------------------------------------------------------- */

static const char *check_state(const struct moderated *known, const struct persist_message *message)
{
    enum persist_state state = known != NULL ? known->state : PERSIST_SHOWN;
    uint32_t reports = known != NULL ? known->reports : 0;

    if ((state >= PERSIST_HIDDEN) != (message->state >= PERSIST_HIDDEN)) {
        return state >= PERSIST_HIDDEN ? "the store shows it, and memory has it as hidden"
                                       : "the store hides it, and memory has it as shown";
    }
    if (state != message->state || reports != message->reports) {
        return "its state or its reports are others in memory";
    }
    return NULL;
}

static const char *check_hidden(const struct host *host, const struct moderated *known,
                                const struct persist_message *message)
{
    struct index_item item;

    if (host_find(host, message->id, NULL, &item, NULL) == 0) {
        return "it is hidden, and stands in an index";
    }
    if (known->deposited_ms != message->deposited_ms || known->expires_ms != message->expires_ms ||
        known->destroy_ms != message->destroy_ms || known->bytes != host_message_bytes(message)) {
        return "its times or its size are others in memory";
    }
    return NULL;
}

static const char *check_shown(const struct host *host, const struct persist_message *message)
{
    uint64_t stored[PROFILE_WORDS_MAX];
    uint64_t indexed[PROFILE_WORDS_MAX];
    struct epoch *epoch = NULL;
    struct index_item item;

    if (host_find(host, message->id, &epoch, &item, indexed) != 0) {
        return "it stands in no index";
    }
    if (epoch->number != message->epoch) {
        return "it stands in another epoch's index";
    }
    if (item.deposited_ms != message->deposited_ms || item.expires_ms != message->expires_ms ||
        item.reach_ppm != message->reach_ppm || item.bytes != host_message_bytes(message)) {
        return "its times, its reach or its size are others in the index";
    }
    if (bloom_load(stored, host->config.profile.bits, message->filter, message->filter_bytes) !=
            0 ||
        memcmp(stored, indexed, host->filter_words * sizeof(stored[0])) != 0) {
        return "its filter is another one in the index";
    }
    return NULL;
}

/* An answer, hidden or not: its filter is not kept in memory. */
static const char *check_answer(const struct host *host, const struct persist_message *message)
{
    const struct answer *answer = answers_find(&host->answers, message->id);

    if (answer == NULL) {
        return "it is not among the answers in memory";
    }
    if (answer->is_shown != (message->state < PERSIST_HIDDEN) || answer->epoch != message->epoch ||
        memcmp(answer->parent, message->answers, MESSAGE_ID_BYTES) != 0 ||
        answer->item.deposited_ms != message->deposited_ms ||
        answer->item.expires_ms != message->expires_ms ||
        answer->item.bytes != host_message_bytes(message)) {
        return "it is shown, or its epoch, what it answers, its times or its size are, otherwise "
               "in "
               "memory";
    }
    return NULL;
}

const char *check_message(struct service *service, const struct persist_entry *entry)
{
    const struct persist_message *message = &entry->message;
    const struct host *host = service_host_numbered(service, message->host);

    if (entry->damaged) {
        return "its row in the store is not as it was written";
    }
    if (host == NULL || message_expired(message->expires_ms, service_now_ms(service))) {
        return NULL;
    }
    const struct moderated *known = moderation_find(&host->moderation, message->id);
    const char *reason = check_state(known, message);
    if (reason == NULL && message->is_answer) {
        reason = check_answer(host, message);
    } else if (reason == NULL) {
        reason = message->state >= PERSIST_HIDDEN ? check_hidden(host, known, message)
                                                  : check_shown(host, message);
    }
    return reason;
}

void check_tell_message(struct service *service, const struct persist_entry *entry,
                        const char *reason, struct check_problems *problems)
{
    char id[MESSAGE_ID_BYTES * 2 + 1];
    const struct host *host = service_host_numbered(service, entry->message.host);

    for (size_t i = 0; i < MESSAGE_ID_BYTES; i++) {
        (void)snprintf(id + 2 * i, 3, "%02x", entry->message.id[i]);
    }
    check_tell(problems, "message %s of host %s: %s", id,
               host != NULL ? host->config.name : "(not configured)", reason);
}

/* --- counts ----------------------------------------------------------------------------------- */

size_t check_tally_count(const struct service *service)
{
    size_t count = 0;

    for (size_t h = 0; h < service->host_count; h++) {
        count += service->hosts[h].epoch_count;
    }
    return count;
}

void check_ask_tallies(const struct service *service, struct persist_tally *out_tallies)
{
    for (size_t h = 0; h < service->host_count; h++) {
        const struct host *host = &service->hosts[h];
        for (size_t e = 0; e < host->epoch_count; e++) {
            *out_tallies++ =
                (struct persist_tally){.host = host->number, .epoch = host->epochs[e]->number};
        }
    }
}

/* Finds an epoch of the host, even if the epoch is over and not freed yet. */
static const struct epoch *find_epoch(const struct host *host, uint64_t number)
{
    for (size_t e = 0; e < host->epoch_count; e++) {
        if (host->epochs[e]->number == number) {
            return host->epochs[e];
        }
    }
    return NULL;
}

static void check_epoch(const struct host *host, const struct persist_tally *tally,
                        struct check_problems *problems)
{
    const struct epoch *epoch = find_epoch(host, tally->epoch);
    const char *name = host->config.name;
    uint64_t whole[PROFILE_WORDS_MAX];
    uint32_t low = 0;
    uint32_t high = 0;

    if (epoch == NULL) {
        return; /* the epoch had no messages and was freed */
    }
    if (tally->shown != index_count(epoch->index)) {
        check_tell(problems,
                   "host %s, epoch %" PRIu64 ": messages shown: %" PRIu64
                   " in the store, %zu in the index",
                   name, tally->epoch, tally->shown, index_count(epoch->index));
        return; /* what follows would say the same again */
    }
    summary_range(&epoch->summary, &low, &high);
    if (epoch->summary.count != tally->shown || low != tally->low || high != tally->high ||
        bloom_load(whole, host->config.profile.bits, tally->whole, host->filter_bytes) != 0 ||
        memcmp(whole, summary_union(&epoch->summary), host->filter_words * sizeof(whole[0])) != 0) {
        check_tell(problems,
                   "host %s, epoch %" PRIu64 ": the summary is not that of the stored filters",
                   name, tally->epoch);
    }
}

/* What the store has of a host as a whole. */
struct sums {
    struct usage stored;
    uint64_t strays;
};

/*
 * Compares the counters of a host with the store's sums. The counters include hidden messages, the
 * indexes do not: so a wrong number of hidden messages shows up here.
 */
static void check_host(const struct host *host, const struct sums *sums,
                       struct check_problems *problems)
{
    const char *name = host->config.name;

    if (sums->strays != 0) {
        check_tell(problems, "host %s: stored messages of epochs that it does not have: %" PRIu64,
                   name, sums->strays);
    }
    uint64_t messages = host->usage.messages - host->waiting.messages;
    uint64_t bytes = host->usage.bytes - host->waiting.bytes;
    if (messages != sums->stored.messages || bytes != sums->stored.bytes) {
        check_tell(problems,
                   "host %s: messages (bytes): %" PRIu64 " (%" PRIu64 ") in the store, %" PRIu64
                   " (%" PRIu64 ") by the counters",
                   name, sums->stored.messages, sums->stored.bytes, messages, bytes);
    }
}

void check_tallies(const struct service *service, const struct persist_tally *tallies, size_t count,
                   struct check_problems *problems)
{
    struct usage all = {0};

    for (size_t h = 0; h < service->host_count; h++) {
        const struct host *host = &service->hosts[h];
        struct sums sums = {0};
        /*
         * whether the store has counted this host; a host that was added by a reload after the
         * count began is not checked
         */
        bool was_there = false;
        for (size_t i = 0; i < count; i++) {
            const struct persist_tally *tally = &tallies[i];
            if (tally->host == host->number) {
                was_there = true;
                check_epoch(host, tally, problems);
                sums.stored.messages += tally->shown + tally->hidden;
                sums.stored.bytes += tally->shown_bytes + tally->hidden_bytes;
                sums.strays += tally->strays;
            }
        }
        if (was_there) {
            check_host(host, &sums, problems);
        }
        all.messages += host->usage.messages;
        all.bytes += host->usage.bytes;
    }
    if (all.messages != service->usage.messages || all.bytes != service->usage.bytes) {
        check_tell(problems,
                   "messages (bytes): %" PRIu64 " (%" PRIu64 ") in all hosts together, %" PRIu64
                   " (%" PRIu64 ") by the counter of all",
                   all.messages, all.bytes, service->usage.messages, service->usage.bytes);
    }
}
