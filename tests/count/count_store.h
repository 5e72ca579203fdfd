/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_store: the store of hearsayd without its threads. Operations are committed by the functions
 * of the writer's thread (daemon/store/thread/commit.c) when count_store_commit is called. Messages
 * cannot be read back by their ids: payloads must come from the cache.
 */
#pragma once

#include "daemon/store/persist.h"

/* Opens or creates DIRECTORY/messages.db. The directory is borrowed until the close. */
struct persist *count_store_open(const char *directory);
void count_store_close(struct persist *persist);

/* Returns how many operations wait. */
size_t count_store_waiting(const struct persist *persist);

/* Commits the operations that wait, in one transaction, and calls `done` of each. */
void count_store_commit(struct persist *persist);
