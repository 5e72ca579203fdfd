/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch/wait.h"

#include "daemon/watch/watch.h"

static bool has_waits(const struct watch_state *state, const struct host *host)
{
    for (uint32_t i = 0; i < state->wait_count; i++) {
        if (state->waits[i]->wait_host == host && !state->waits[i]->is_gone) {
            return true;
        }
    }
    return false;
}

/*
 * Counts the new messages about which the operator has not decided, and marks all messages as not
 * new. Fills *out with the message that was deposited first. Returns false if no message is new.
 */
static bool count_news(struct host *host, int64_t now_ms, struct hearsay_waited *out)
{
    const struct moderated *oldest = NULL;

    *out = (struct hearsay_waited){.count = 0};
    for (uint32_t i = 0; i < host->moderation.count; i++) {
        struct moderated *moderated = &host->moderation.entries[i];
        bool is_news = moderated->is_new && moderation_is_open(moderated, now_ms);

        moderated->is_new = false;
        out->count += is_news ? 1 : 0;
        if (is_news && (oldest == NULL || moderated->deposited_ms < oldest->deposited_ms)) {
            oldest = moderated;
        }
    }
    host->has_news = false;
    if (oldest != NULL) {
        out->id = (struct hearsay_bytes){oldest->id, MESSAGE_ID_BYTES};
        out->kind = (enum hearsay_report_kind)oldest->new_kind;
        out->pending = oldest->state == PERSIST_PENDING;
    }
    return oldest != NULL;
}

void wait_tell(struct service *service, struct host *host)
{
    struct watch_state *state = service->watch;

    if (!host->has_news || !has_waits(state, host)) {
        return;
    }
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_WAITED};
    if (!count_news(host, service_now_ms(service), &response.waited)) {
        return;
    }
    for (uint32_t i = state->wait_count; i-- > 0;) {
        struct requester *client = state->waits[i];
        if (client->wait_host == host && !client->is_gone) {
            response.id = client->wait_id;
            wait_end(service, client); /* another client, which was looked at, takes its place */
            client->events->respond(client, &response);
        }
    }
}

int wait_begin(struct service *service, struct requester *client, struct host *host, uint64_t id)
{
    struct watch_state *state = service->watch;

    if (client->wait_id != 0 || state->wait_count == WATCH_WAITS) {
        return WAIT_FULL;
    }
    state->waits[state->wait_count++] = client;
    client->wait_id = id;
    client->wait_host = host;
    wait_tell(service, host);
    return 0;
}

void wait_end(struct service *service, struct requester *client)
{
    struct watch_state *state = service->watch;

    for (uint32_t i = 0; i < state->wait_count && client->wait_id != 0; i++) {
        if (state->waits[i] == client) {
            state->waits[i] = state->waits[--state->wait_count];
            client->wait_id = 0;
        }
    }
}
