/* SPDX-License-Identifier: Apache-2.0 */
/* Committed deposits wait in a list until a turn of the loop matches them with the watches, in
 * batches. */
#include <assert.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

enum {
    BATCH = 64, /* deposits that are matched together */
    /* A turn begins no batch after this number of matches, so that the loop can do other work. */
    TURN_MATCHES = 16384,
    TURN_DEPOSITS = 2048 /* deposits of a turn */
};

/* A committed deposit that waits to be matched. */
struct watch_pending {
    struct watch_pending *prev, *next;
    struct host *host;
    struct standing_deposit deposit; /* its filter: `storage`, or the stack of match_at_once */
    int64_t seq;
    int64_t deposited_ms;
    uint64_t epoch;
    size_t content_bytes; /* of payload and media type */
    uint8_t id[MESSAGE_ID_BYTES];
    uint64_t storage[]; /* the words of the filter */
};

static void free_pending(struct service *service, struct watch_pending *pending)
{
    size_t bytes = sizeof(*pending) + pending->host->filter_words * sizeof(uint64_t);

    DL_DELETE(service->watch->pending, pending);
    service->watch->pending_bytes -= bytes;
    service->watch->counts.pending--;
    alloc_release(service->alloc, pending);
}

static bool is_watched(const struct host *host)
{
    return host->standing != NULL && standing_count(host->standing) > 0;
}

/* Queues the matches of a batch of deposits. For a watch that catches up, queues nothing and raises
 * `live_after`. Returns the number of matches for the other watches. */
static size_t queue_hits(struct watch_pending *const *batch, const struct standing_hit *hits,
                         size_t count)
{
    size_t taken = 0;

    for (size_t h = 0; h < count; h++) {
        const struct watch_pending *pending = batch[hits[h].deposit];
        struct watch *watch = standing_owner(hits[h].query);
        struct watch_match match = {
            .hit = hits[h],
            .seq = pending->seq,
            .deposited_ms = pending->deposited_ms,
            .epoch = pending->epoch,
        };

        if (pending->seq <= watch->live_after || pending->deposited_ms < watch->since_ms) {
            continue;
        }
        if (watch->catch != NULL) {
            watch->live_after = pending->seq; /* the store's pages will bring the message */
        } else {
            memcpy(match.id, pending->id, MESSAGE_ID_BYTES);
            match.watch = watch;
            watch_queue(watch, &match, pending->content_bytes);
            taken++;
        }
    }
    return taken;
}

/* Matches a batch of deposits of one host with the watches of this host. `*count` is the number of
 * deposits; the function sets `*count` to the number of deposits that it has matched, from the
 * first one on. Returns what queue_hits returns. */
static size_t match_some(struct watch_pending *const *batch, uint32_t *count)
{
    struct standing_deposit deposits[BATCH];
    const struct standing_hit *hits = NULL;
    size_t hit_count = 0;

    for (uint32_t i = 0; i < *count; i++) {
        deposits[i] = batch[i]->deposit;
    }
    *count = standing_match(batch[0]->host->standing, deposits, *count, &hits, &hit_count);
    return queue_hits(batch, hits, hit_count);
}

/*
 * Matches the first deposits of the list `pending`, at most BATCH and all of one host. Frees the
 * matched deposits, and adds their number to *out_deposits. Returns what queue_hits returns.
 */
static size_t match_batch(struct service *service, uint32_t *out_deposits)
{
    struct watch_pending *first = service->watch->pending;
    struct watch_pending *batch[BATCH];
    struct watch_pending *pending;
    uint32_t count = 0;

    DL_FOREACH (service->watch->pending, pending) {
        if (pending->host != first->host || count == BATCH) {
            break;
        }
        batch[count++] = pending;
    }
    size_t taken = match_some(batch, &count);
    for (uint32_t i = 0; i < count; i++) {
        free_pending(service, batch[i]);
    }
    *out_deposits += count;
    return taken;
}

/*
 * Matches the first deposits of the list `pending`, as match_batch does. If the host of the first
 * deposit has no watch, only frees this deposit.
 */
static size_t match_first(struct service *service, uint32_t *out_deposits)
{
    if (is_watched(service->watch->pending->host)) {
        return match_batch(service, out_deposits);
    }
    free_pending(service, service->watch->pending);
    return 0;
}

static void load_filter(struct watch_pending *pending, const struct persist_message *message,
                        uint64_t *out_filter)
{
    /* cannot fail: the index took the message with this filter */
    (void)bloom_load(out_filter, pending->host->config.profile.bits, message->filter,
                     message->filter_bytes);
    pending->deposit.filter = out_filter;
}

/* Matches a deposit now, because there is no memory to add it to the list of waiting deposits.
 * First matches the deposits of this list, to keep the order. */
static void match_at_once(struct service *service, struct watch_pending *pending,
                          const struct persist_message *message)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint32_t count = 0;

    while (service->watch->pending != NULL) {
        (void)match_first(service, &count);
    }
    load_filter(pending, message, filter);
    count = 1;
    (void)match_some(&pending, &count);
}

/* Adds a message with the number `seq` to the list of deposits that wait to be matched. Without
 * memory, matches the message at once. */
static void append_pending(struct service *service, struct host *host,
                           const struct persist_message *message, int64_t seq)
{
    size_t bytes = sizeof(struct watch_pending) + host->filter_words * sizeof(uint64_t);

    struct watch_pending own = {
        .host = host,
        .deposit = watch_deposit(host, message),
        .seq = seq,
        .epoch = message->epoch,
        .deposited_ms = message->deposited_ms,
        .content_bytes = message->payload_bytes + message->media_type_bytes,
    };
    memcpy(own.id, message->id, MESSAGE_ID_BYTES);
    struct watch_pending *pending = alloc_array(service->alloc, 1, bytes);
    if (pending == NULL) {
        match_at_once(service, &own, message);
        return;
    }
    *pending = own;
    load_filter(pending, message, pending->storage);
    DL_APPEND(service->watch->pending, pending);
    service->watch->pending_bytes += bytes;
    service->watch->counts.pending++;
}

void watch_numbered(struct service *service, struct host *host,
                    const struct persist_message *message, int64_t seq)
{
    assert(seq > service->watch->newest_seq);
    service->watch->newest_seq = seq;
    if (message != NULL && is_watched(host)) {
        append_pending(service, host, message, seq);
    }
}

void watch_found(struct service *service, struct host *host, const struct persist_message *message)
{
    if (message->seq > service->watch->newest_seq) {
        watch_numbered(service, host, message, message->seq);
    } else {
        watch_missed(service, host);
    }
}

void watch_match_pending(struct service *service)
{
    struct watch_state *state = service->watch;
    uint32_t deposits = 0;
    size_t matches = 0;

    while (state->pending != NULL && deposits < TURN_DEPOSITS && matches < TURN_MATCHES) {
        matches += match_first(service, &deposits);
    }
}

void watch_forget_pending(struct service *service)
{
    while (service->watch->pending != NULL) {
        free_pending(service, service->watch->pending);
    }
}

size_t watch_waiting_bytes(const struct service *service)
{
    return service->watch->pending_bytes;
}
