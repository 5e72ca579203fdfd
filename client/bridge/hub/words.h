/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words: sends the decisions of operators at a reader to the owner of the host. A word is one such
 * decision. The module reads the feed of the reader's hearsayd: a change that does not come from
 * the owner is a word. Before a word about a message goes to the hub, the hub overwrites the
 * message.
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

uint64_t words_total(const struct words *words); /* that went to the hub */

#endif
