/* SPDX-License-Identifier: Apache-2.0 */
/* inner: what the files of this folder use of one another, one part for each. */
#pragma once

#include <stdio.h>

#include "client/web/http.h"
#include "client/web/portal.h"
#include "client/web/route/nonce.h"
#include "client/web/setup/config.h"

/* --- listen.c --------------------------------------------------------------------------------- */

/* Opens the sockets on which phones, or a proxy, reach the program. */

/* Open listeners; `count` of each. */
struct listen {
    struct http_listener sockets[HTTP_LISTENERS_MAX];
    struct web_config_listener places[HTTP_LISTENERS_MAX]; /* with the ports that were bound */
    size_t count;
};

/*
 * Takes the sockets of the service manager, which the moderators' page refuses; without any opens
 * those of the configuration. 0; or
 * -ERR_SYSTEM with a sentence in out_reason (REASON_BYTES), and nothing stays open.
 */
int listen_open(const struct web_config *config, struct listen *out_listen, char *out_reason);

/* Removes the files of Unix sockets that listen_open made. The sockets are closed by others. */
void listen_clean(const struct listen *listen);

/* --- look.c ----------------------------------------------------------------------------------- */

/* What --check-config asks the hearsayd that runs. */

enum { LOOK_MS = 3000 };

/*
 * Compares the configuration with that of the hearsayd at `server`: whether it is a gateway's
 * socket, whether the host is there, and whether the longest text fits; of the moderators' page
 * whether this user may moderate the host. Returns 0, or SETTINGS_REFUSED with a line for each
 * error in out_reason. out_warning gets "", or a sentence: texts of the page are limited by
 * hearsayd, or hearsayd could not be asked, and what was not checked therefore. Both have
 * SETTINGS_REASON_BYTES. Waits for LOOK_MS at most.
 */
int look_at_server(const struct web_config *config, char *out_warning, char *out_reason);

/*
 * Reads the file of `rules` as the program would: a process of root becomes the user of `user` for
 * good, and is refused without a `user`. Returns 0, or another number with a line for each error in
 * out_reason (SETTINGS_REASON_BYTES).
 */
int look_at_rules(struct web_config *config, char *out_reason);

/* --- memory.c --------------------------------------------------------------------------------- */

/* How much memory the page may use, by its limits. */

/* Writes a line about the most memory that the page uses with these limits, and what for. Memory of
 * the kernel for connections is in it, because a control group counts this, too. */
void memory_print(const struct web_config *config, FILE *out);

/* --- stay.c ----------------------------------------------------------------------------------- */

/* Keeps in a file which phones stay (portal.h), and the keys that phones depend on, so that a
 * restart does not forget them. */

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
