/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files: the configuration of the hub's nats-servers. One file for each server, n1.conf and so on,
 * and rights.conf, which all of them include: who may connect, and what each may say and hear.
 */
#ifndef CLIENT_BRIDGE_HUB_FILES_H
#define CLIENT_BRIDGE_HUB_FILES_H

#include <stdint.h>

#include "client/bridge/hub/rights.h"
#include "client/bridge/setup/config.h"
#include "client/bridge/wire/version.h"

enum { HUB_REASON_BYTES = RIGHTS_REASON_BYTES, HUB_ROUTE_OFFSET = 2000 };

struct hub_files {
    const struct bridge_config *config; /* its `nats` lines are the servers, n1 first */
    const char *folder;                 /* where the files go, and where certificates are */
    const char *hosts;                  /* the file of who may connect */
    const char *store;                  /* the servers' own folders are below this one */
    uint64_t disk_bytes;                /* that each server may use */
    struct hub_version version;         /* of the servers */
};

/*
 * Writes the files; hub_files_write_rights: rights.conf only. Those that are there are replaced
 * whole. rights.h says what `hosts` has. Prints what was written to `out`. 0, or -1 with a sentence
 * in out_reason (HUB_REASON_BYTES).
 */
int hub_files_write_rights(const struct hub_files *files, FILE *out, char *out_reason);
int hub_files_write(const struct hub_files *files, FILE *out, char *out_reason);

#endif
