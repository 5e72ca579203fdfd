/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/board/refused.h"

#include "client/web/board/answer.h"
#include "client/web/http_peer.h"

void refused_init(struct refused *refused)
{
    keyed_hash_draw(refused->key);
}

static uint64_t hash_of(const struct refused *refused, const struct http_address *client)
{
    struct fair_key sender;

    http_peer_sender_key(client, &sender);
    return keyed_hash(refused->key, &sender, sizeof(sender));
}

void refused_note(struct refused *refused, const struct http_address *client,
                  uint64_t retry_after_ms, int64_t now_ms)
{
    uint64_t wait_ms = retry_after_ms < REFUSED_MS ? retry_after_ms : REFUSED_MS;
    uint64_t sender = hash_of(refused, client);

    refused->senders[sender % REFUSED_MAX].sender = sender;
    refused->senders[sender % REFUSED_MAX].until_ms = now_ms + (int64_t)wait_ms;
}

bool refused_has(const struct refused *refused, const struct http_address *client, int64_t now_ms,
                 struct hearsay_error *out_error)
{
    uint64_t sender = hash_of(refused, client);
    int64_t until_ms = refused->senders[sender % REFUSED_MAX].until_ms;

    if (refused->senders[sender % REFUSED_MAX].sender != sender || until_ms <= now_ms) {
        return false;
    }
    answer_fault(out_error, HEARSAY_ERR_REFUSED, HEARSAY_CODE_RATE_LIMITED,
                 "hearsayd said when to try again");
    out_error->retry_after_ms = (uint64_t)(until_ms - now_ms);
    return true;
}

void refused_tidy(struct refused *refused, int64_t now_ms)
{
    for (size_t i = 0; i < REFUSED_MAX; i++) {
        if (refused->senders[i].until_ms <= now_ms) {
            refused->senders[i].sender = 0;
        }
    }
}
