/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_load: what happens between opening a database and its first operation: hosts get their
 * numbers, messages and rules are read and proved. These functions implement add_host, replay and
 * replay_rules of persist.h; they block.
 */
#ifndef DAEMON_STORE_LOAD_H
#define DAEMON_STORE_LOAD_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

/*
 * Makes a host. SQLITE_OK with its number; SQLITE_CONSTRAINT when there is a host of that name; or
 * another result code of SQLite.
 */
int store_load_new_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host);

/* A database that start-up reads. */
struct store_load {
    sqlite3 *db;
    const char *path; /* for sentences */
    char *reason;     /* of PERSIST_REASON_BYTES: gets the sentence of a failure */
};

/* persist's add_host. */
int store_load_host(const struct store_load *load, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile);

/*
 * Visits every message in the order of seq. Each is proved by its checksum, which covers the
 * payload, too. Then both indexes of the messages are compared with the rows. -ERR_DAMAGED,
 * -ERR_STORAGE or -ERR_NOMEM with a sentence; or the result of `visit`.
 */
int store_load_replay(const struct store_load *load,
                      int (*visit)(void *context, const struct persist_message *message),
                      void *context);

/* Visits every rule: see persist.h, replay_rules. */
int store_load_rules(const struct store_load *load,
                     int (*visit)(void *context, const struct persist_rule *rule), void *context);

/* Visits every epoch: see persist.h, replay_epochs. */
int store_load_epochs(const struct store_load *load,
                      int (*visit)(void *context, const struct persist_epoch *epoch),
                      void *context);

#endif
