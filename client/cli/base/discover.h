/* SPDX-License-Identifier: Apache-2.0 */
/* discover: where a server may be, for `--server auto`. */
#ifndef CLIENT_CLI_BASE_DISCOVER_H
#define CLIENT_CLI_BASE_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where to look, in this order. Only DISCOVER_DNS sends questions. */
enum discover_step { DISCOVER_LOOPBACK, DISCOVER_DNS, DISCOVER_GATEWAY, DISCOVER_STEPS };

enum { DISCOVER_PLACES_MAX = 8, DISCOVER_SERVER_BYTES = 272, DISCOVER_HOW_BYTES = 320 };

/* A place where a server may be. */
struct discover_place {
    char server[DISCOVER_SERVER_BYTES]; /* as --server takes it */
    char how[DISCOVER_HOW_BYTES];       /* how the place was found, for the user */
    uint16_t priority;                  /* of the SRV record: the smaller one comes first */
    bool tls;                           /* the announcement says that the server wants TLS */
};

/*
 * Fills `out` with the places of one step, the first to try first. Returns the number of places.
 *
 * DISCOVER_DNS asks the resolver of the system for the PTR records of _hearsay._tcp in the search
 * domain of /etc/resolv.conf (RFC 6763), then for SRV and TXT of each. The function leaves out
 * announcements that are wrong or of another version. The function waits at most a second for each
 * question. If nobody answers the first question, the function asks no other one. Each announcement
 * takes two questions. So the function asks about a further announcement only if two seconds or
 * more are left until end_us, a time of the monotonic clock in microseconds.
 *
 * DISCOVER_GATEWAY reads the default routes of IPv4 and IPv6 from /proc/net.
 */
size_t discover_places(enum discover_step step, int64_t end_us,
                       struct discover_place out[DISCOVER_PLACES_MAX]);

#endif
