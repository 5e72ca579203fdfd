/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: by which names the page may be asked for. A request for any other name comes from a page
 * that had its own name led here (DNS rebinding), or from a phone that looks for the internet.
 */
#pragma once

#include "client/web/setup/config.h"

struct names {
    const struct web_config *config; /* borrowed: `names` */
    /* Where the program listens, with the ports that the kernel gave. */
    struct web_config_listener places[HTTP_LISTENERS_MAX];
    size_t place_count;
};

/*
 * Whether a Host header names this page (is_metrics: the figures): a configured name or the numeric
 * address of a listener of the page (of the figures), with the listener's port; or localhost, where
 * a listener is of this machine only. A listener for all addresses takes any numeric address.
 * Behind a proxy any port is right. NULL: false.
 */
bool names_allow_host(const struct names *names, bool is_metrics, const char *host);

/*
 * Whether an Origin header may stand in a request for this host: NULL, or http:// and the same
 * host; with a proxy also https://.
 */
bool names_allow_origin(const struct names *names, const char *host, const char *origin);

/*
 * Write the address of the page: its first name, and the port where that is not 80
 * (NAMES_TEXT_BYTES). names_write_numeric writes the numeric address of a listener that phones can
 * reach; false: there is none.
 */
enum { NAMES_TEXT_BYTES = 160 };
void names_write(const struct names *names, char *out_text);
bool names_write_numeric(const struct names *names, char *out_text);
