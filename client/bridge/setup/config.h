/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the configuration of hearsay-bridge. The table of keys (table.c) describes all keys. By
 * this table, daemon/settings parses, checks and prints configurations.
 */
#pragma once

#include <stdio.h>

#include "daemon/settings/value.h"
#include "daemon/system/log.h"

enum {
    BRIDGE_NATS_MAX = 8,
    BRIDGE_HOSTS_MAX = 64,
    BRIDGE_HOODS_MAX = 16,
    BRIDGE_NAME_BYTES = SETTINGS_NAME_BYTES,
    BRIDGE_URL_BYTES = SETTINGS_LINE_BYTES_MAX + 1,
    BRIDGE_SERVER_BYTES = 108, /* as long as sun_path may be, with its NUL */
    BRIDGE_PATH_BYTES = SETTINGS_LINE_BYTES_MAX + 1,
    BRIDGE_USER_BYTES = 33
};

/* The name of no host: s.HOOD.all asks all hosts of a neighbourhood. */
#define BRIDGE_NO_HOST "all"

enum bridge_section {
    BRIDGE_SECTION_BRIDGE,
    BRIDGE_SECTION_HOST,
    BRIDGE_SECTION_READER,
    BRIDGE_SECTION_HOOD
};

/* [host NAME]: a host of hearsayd here. */
struct bridge_host {
    char name[BRIDGE_NAME_BYTES];
    unsigned line;
    bool publishes;               /* this access point is the owner */
    char hood[BRIDGE_NAME_BYTES]; /* "": belongs to none */
};

/* [hood NAME] */
struct bridge_hood {
    char name[BRIDGE_NAME_BYTES];
    unsigned line;
    uint32_t asks_per_minute; /* answered for each peer */
};

struct bridge_config {
    struct settings_config common; /* first */
    char server[BRIDGE_SERVER_BYTES];
    char nats[BRIDGE_NATS_MAX][BRIDGE_URL_BYTES];
    size_t nats_count;
    char name[BRIDGE_NAME_BYTES]; /* after bridge_config_finish not "" */
    char cert[BRIDGE_PATH_BYTES]; /* "": no TLS */
    char key[BRIDGE_PATH_BYTES];
    char ca[BRIDGE_PATH_BYTES];
    char state[BRIDGE_PATH_BYTES]; /* the directory of cursors */
    char user[BRIDGE_USER_BYTES];  /* the user to become; "": stay the same user */
    enum log_level log_level;
    struct bridge_host hosts[BRIDGE_HOSTS_MAX];
    size_t host_count;
    char reader_hosts[BRIDGE_HOSTS_MAX][BRIDGE_NAME_BYTES];
    size_t reader_count;
    struct bridge_hood hoods[BRIDGE_HOODS_MAX];
    size_t hood_count;
};

/* What bridge_program does with a configuration, which is a struct bridge_config. */

/* Sets all defaults but those that bridge_config_finish sets. */
void bridge_config_defaults(void *out_config);

/* Sets the default name and adds the section of each hood that a host names. Checks the rules about
 * several keys. 0, or SETTINGS_REFUSED with a line for each error. */
int bridge_config_finish(void *config, char *out_reason);

/* Checks that this process can read the files of `cert`, `key` and `ca`. `user`: how a sentence
 * calls who it is; "": does not. 0, or SETTINGS_REFUSED with a line for each error. */
int bridge_config_check_files(const struct bridge_config *config, const char *user,
                              char *out_reason);

/* Writes the configuration as a file. Parsing this file gives the same configuration. */
void bridge_config_print(const void *config, FILE *out);

/* The host or hood of that name; NULL: there is none. */
const struct bridge_host *bridge_config_host(const struct bridge_config *config, const char *name);
const struct bridge_hood *bridge_config_hood(const struct bridge_config *config, const char *name);

/* How often an owner writes its head: 30 s, or HEARSAY_BRIDGE_HEAD_MS of the environment, for
 * tests. */
uint64_t bridge_head_ms(void);

/* What has not happened for 20 heads (10 minutes) is trouble. The second takes the wall clock in
 * seconds, since when it did not happen; 0: it did. */
uint64_t bridge_trouble_ms(void);
bool bridge_is_overdue(int64_t since_s);
