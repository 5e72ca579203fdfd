/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_load: the work of start-up between opening a database and its first operation. Hosts get
 * their numbers; rules and epochs are read, and their checksums are verified. Four of the
 * functions implement add_host, replay_rules, replay_removed and replay_epochs of
 * persist.h. All block.
 */
#pragma once

#include "daemon/store/numbers.h"
#include "daemon/store/persist.h"

/*
 * Stores a new host, also after start-up. Returns SQLITE_OK and sets *out_host to the number of the
 * host; SQLITE_CONSTRAINT if a host of this name exists; or another result code of SQLite.
 */
int store_load_new_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host);

/*
 * Stores whether a host has changes (PERSIST_REPLICATE). *out_changed: false if the row says so
 * already, or there is no such host. Returns a result code of SQLite.
 */
int store_load_replicate(sqlite3 *db, uint32_t host, bool replicate, bool *out_changed);

/* A database that start-up reads. */
struct store_load {
    sqlite3 *db;
    const char *path; /* for sentences */
    char *reason;     /* of PERSIST_REASON_BYTES: gets the sentence of a failure */
};

/*
 * Loads the numbers of all messages into an empty memory (numbers.h). Returns 0, or a negative
 * error with a sentence in load->reason.
 */
int store_load_numbers(const struct store_load *load, struct store_numbers *numbers);

/* persist's add_host. */
int store_load_host(const struct store_load *load, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile);

/* Calls `visit` for every rule, as replay_rules of persist.h does. */
int store_load_rules(const struct store_load *load,
                     int (*visit)(void *context, const struct persist_rule *rule), void *context);

/* Calls `visit` for every message that the operator has removed: see replay_removed in persist.h.
 */
int store_load_removed(const struct store_load *load,
                       int (*visit)(void *context, const struct persist_message *message),
                       void *context);

/* Calls `visit` for every epoch of every host, as replay_epochs of persist.h does. */
int store_load_epochs(const struct store_load *load,
                      int (*visit)(void *context, const struct persist_epoch *epoch),
                      void *context);
