/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stay: keeps in a file which phones stay (portal.h), and the keys that phones depend on, so that a
 * restart does not forget them.
 */
#ifndef CLIENT_WEB_MAIN_STAY_H
#define CLIENT_WEB_MAIN_STAY_H

#include <stdint.h>

#include "client/web/portal.h"
#include "client/web/route/nonce.h"
#include "client/web/setup/config.h"

enum { STAY_DEVICE_KEY_BYTES = 16 };

struct stay {
    struct portal *portal;     /* in the file, or `own` where there is none */
    const uint8_t *device_key; /* of devices_open: a phone must have the number of before */
    const uint8_t *nonce_key;  /* of struct nonce, NONCE_KEY_BYTES; NULL: there is no file */
    struct stay_file *mapped;  /* NULL: there is no file */
    int lock;                  /* the file's descriptor; -1: there is none */
    struct portal own;
};

/*
 * Opens the file of those who stay, and makes it where it is not there or cannot be used: `stayed`
 * in the folder that the service manager gives in $RUNTIME_DIRECTORY, else the path of `server` and
 * `.stayed`. Forgets those whose time has ended, and times that this boot cannot have given.
 * Without `portal = offline` nobody stays. Without a file, or if another process has it, all is in
 * memory only, and a line of the log says why; so it is for the moderators' page, which needs none
 * of it. `now_ms` is CLOCK_MONOTONIC. sodium_init must have been
 * called. May be called as root: the file is open until stay_close. Later writes are writes to
 * memory.
 */
void stay_open(struct stay *stay, const struct web_config *config, int64_t now_ms);

/* The file and what is in it stay. */
void stay_close(struct stay *stay);

#endif
