/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/feed/feed.h"

#include <string.h>

#include "core/base/hash.h"
#include "proto/codec/letter.h"

bool feed_is_about_change(const struct hearsay_error *error)
{
    return strncmp(error->field, "changes", strlen("changes")) == 0;
}

struct hearsay_change feed_for_letter(const struct hearsay_change *change)
{
    struct hearsay_change known = *change;

    if (known.has_gone && known.gone.why > HEARSAY_WAS_EVICTED) {
        known.gone.why = HEARSAY_WAS_REMOVED;
    }
    return known;
}

int feed_digest_add(struct feed_digest *digest, const struct hearsay_change *change,
                    int64_t deposited_before_ms, int64_t expires_after_ms)
{
    struct msg_letter letter = {.kind = MSG_LETTER_CHANGE, .change = *change};
    struct bytes bytes;

    if (!change->has_message || change->message.deposited_ms >= deposited_before_ms ||
        change->message.expires_ms <= expires_after_ms) {
        return 0;
    }
    letter.change.seq = 0;
    letter.change.has_decision = false;         /* only the owner has it */
    if (change->message.payload.data == NULL) { /* an empty payload may be left out */
        letter.change.message.payload = hearsay_bytes("", 0);
    }
    if (change->message.media_type.text == NULL) { /* and so may the usual type */
        letter.change.message.media_type = hearsay_text("text/plain");
    }
    bytes_init(&bytes, alloc_system());
    int rc = letter_encode(&letter, &bytes);
    if (rc == 0) {
        digest->count++;
        digest->digest ^= hash_seeded(bytes.data, bytes.count, 0);
    }
    bytes_deinit(&bytes);
    return rc < 0 ? rc : 0;
}
