/* SPDX-License-Identifier: Apache-2.0 */
/*
 * portal: what phones hear that ask for other names, in a network without internet (`portal =
 * offline`). There, DNS answers each name with the access point's address. A phone asks a known
 * server of its maker whether it has internet. Until somebody presses "Stay connected", the answer
 * is a redirect to the page, and the phone shows the page. After that the phone gets the answer of
 * the maker's server, so that the phone stays in this WiFi. No I/O, no clock. The table may be kept
 * for the next process: it has no pointers, and means the same there as long as `now_ms` goes on.
 */
#pragma once

#include "client/web/http.h"

enum {
    PORTAL_PHONES = 1024, /* one more takes the place of the one whose time ends first */
    PORTAL_STAY_MS = 12 * 3600 * 1000,        /* of a device */
    PORTAL_STAY_ADDRESS_MS = 2 * 3600 * 1000, /* of an address whose device is not known: DHCP
                                                 gives it to another phone then */
    PORTAL_SALT_BYTES = 32,
    PORTAL_HASH_BYTES = 16
};

struct portal_phone {
    uint8_t hash[PORTAL_HASH_BYTES]; /* of the device, else of the address, with the salt */
    int64_t until_ms;                /* 0: the entry is free */
};

/* The phones that stay, without their addresses. 24 KiB. */
struct portal {
    uint8_t salt[PORTAL_SALT_BYTES];
    struct portal_phone phones[PORTAL_PHONES];
};

/* Makes a random salt and an empty table. sodium_init must have been called. */
void portal_init(struct portal *portal);

/* Notes that a phone stays for PORTAL_STAY_MS, or PORTAL_STAY_ADDRESS_MS. `now_ms` is a monotonic
 * clock, not negative. O(PORTAL_PHONES). */
void portal_stay(struct portal *portal, const struct http_address *client, int64_t now_ms);

/* Whether a phone stays. O(PORTAL_PHONES). */
bool portal_stays(const struct portal *portal, const struct http_address *client, int64_t now_ms);

/* Forgets the phones whose time has ended, and times that end later than any from now can: a table
 * that was kept has them if the clock began anew. O(PORTAL_PHONES). */
void portal_tidy(struct portal *portal, int64_t now_ms);

/*
 * Writes the answer to a request for a name that is not ours. A GET or HEAD gets the answer that
 * the probe of a phone expects, if the phone stays; else a redirect to `url`, the address of our
 * page. A POST gets 421. The answer borrows `url` and static texts.
 */
void portal_answer(const struct portal *portal, const struct http_request *request, const char *url,
                   int64_t now_ms, struct http_answer *out_answer);
