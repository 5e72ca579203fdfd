/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words: sends the decisions of operators at a reader to the owner of the host. A word is one such
 * decision at the hub. The module asks the reader's hearsayd for the decisions that the owner has
 * not confirmed yet, and brings those to the hub that it does not have. hearsayd keeps a decision
 * until the owner's state names it, so that a word that gets lost anywhere is sent again. Before a
 * word about a message goes to the hub, the hub overwrites the message.
 */
#ifndef CLIENT_BRIDGE_HUB_WORDS_H
#define CLIENT_BRIDGE_HUB_WORDS_H

#include "client/bridge/hub/reader.h"

struct words;

/* 0, or -ERR_NOMEM. */
int words_new(const struct reader_shared *shared, struct reader *reader, struct words **out_words);
void words_greeted(struct words *words);
void words_stop(
    struct words *words); /* NULL is fine; then words_free, when the loop has closed it */
void words_free(struct words *words);

/* How many decisions wait for the owner, and since when, by the clock of hearsayd; 0: none does. */
uint32_t words_waiting(const struct words *words, int64_t *out_since_ms);

uint64_t words_total(const struct words *words); /* that went to the hub */

#endif
