/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erase: overwrites messages in the streams of the hub. A server that drops a message, because a
 * newer one came or its time is over, leaves the bytes in its file; one that erases it overwrites
 * them.
 */
#ifndef CLIENT_BRIDGE_HUB_ERASE_H
#define CLIENT_BRIDGE_HUB_ERASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/bridge/wire/wire.h"

enum { ERASE_KEY_BYTES = 16, ERASE_WAITING_MAX = 1024 };

struct erase;

/* `wire` is borrowed. `has_room` is called when few requests wait, after there were too many. 0, or
 * -ERR_NOMEM. */
int erase_new(struct wire *wire, void (*has_room)(void *context), void *context,
              struct erase **out_erase);
void erase_free(struct erase *erase); /* ends what waits; NULL is fine */

/* What waits, because it came without a connection, goes on. */
void erase_joined(struct erase *erase);

/*
 * Erases the messages of a subject up to the number `last` of the stream. Then calls `done`, if it
 * is not NULL, with what is true of all servers that are up; is_erased is false if the hub was lost
 * before, or did not answer. -ERR_NOMEM, or ERASE_FULL if ERASE_WAITING_MAX requests wait: then
 * `done` is not called; else 0. Without `done` what is not erased is noted for erase_take_missed.
 */
enum { ERASE_FULL = 1 };
typedef void erase_done(void *context, const uint8_t *key, bool is_erased);
int erase_subject(struct erase *erase, const char *stream, const char *subject, uint64_t last,
                  erase_done *done, void *context, const uint8_t *key);

/* Erases one message. 0, -ERR_NOMEM, or ERASE_FULL, as above. */
int erase_message(struct erase *erase, const char *stream, uint64_t seq);

/* Whether half of ERASE_WAITING_MAX may be asked for. */
bool erase_has_room(const struct erase *erase);

/* Once nothing waits: whether anything was not erased since the last call, so that all must be
 * looked through again. */
bool erase_take_missed(struct erase *erase);

/* How many messages were overwritten, and how many requests wait. */
uint64_t erase_count(const struct erase *erase);
uint64_t erase_waiting(const struct erase *erase);

#endif
