/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages: answers an access point that asks for its own host: pages of states, the operator's words,
 * and what tells whether two copies are the same. Silent while hearsayd here does not have all that
 * the hub has: a copy from which something is missing would look whole. Words come also then.
 */
#ifndef CLIENT_BRIDGE_HUB_PAGES_H
#define CLIENT_BRIDGE_HUB_PAGES_H

#include "client/bridge/hub/reader.h"

struct pages;

/* 0, or -ERR_NOMEM. */
int pages_new(const struct reader_shared *shared, struct reader *reader, struct pages **out_pages);
void pages_stop(struct pages *pages); /* NULL is fine */
void pages_free(struct pages *pages);

uint64_t pages_total(const struct pages *pages);
uint64_t pages_renewals(const struct pages *pages); /* how often the servers were told anew */

#endif
