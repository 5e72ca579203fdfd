/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_load: what happens between opening a database and its first operation: hosts are named,
 * messages are read back and proved. See persist.h for both; they block.
 */
#ifndef DAEMON_STORE_LOAD_H
#define DAEMON_STORE_LOAD_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

/*
 * Makes a host of a name that no host has yet. SQLITE_OK with its number, SQLITE_CONSTRAINT when
 * there is one of that name, or another code of SQLite's.
 */
int store_load_new_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host);

/* persist's add_host. `path` is for sentences. */
int store_load_host(sqlite3 *db, const char *path, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason);

/*
 * persist's replay: every message in order of its number, each proved by its checksum, payload
 * included; then both indexes of the messages are compared with what was read. -ERR_DAMAGED,
 * -ERR_STORAGE, -ERR_NOMEM with a sentence; or what `visit` said.
 */
int store_load_replay(sqlite3 *db, const char *path,
                      int (*visit)(void *context, const struct persist_message *message),
                      void *context, char *out_reason);

/* Visits every rule: see persist.h, replay_rules. */
int store_load_rules(sqlite3 *db, const char *path,
                     int (*visit)(void *context, const struct persist_rule *rule), void *context,
                     char *out_reason);

#endif
