/* SPDX-License-Identifier: Apache-2.0 */
/* base: the sizes, statuses and errors that all parts of hearsay.h use. */
#ifndef HEARSAY_BASE_H
#define HEARSAY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages.h"

#if defined(__GNUC__)
#define HEARSAY_API __attribute__((visibility("default")))
#else
#define HEARSAY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEARSAY_PORT                 7117       /* TCP port where an address names none */
#define HEARSAY_ID_BYTES             16         /* a message's id, a store's id */
#define HEARSAY_TOKEN_BYTES          32         /* a withdraw token */
#define HEARSAY_HASH_BYTES           32         /* BLAKE2b-256 */
#define HEARSAY_CURSOR_BYTES         32         /* the cursor of a page, at most */
#define HEARSAY_KEY_BYTES            32         /* an epoch's key */
#define HEARSAY_FILTER_BYTES_MAX     512        /* 4096 bits */
#define HEARSAY_REASON_BYTES_MAX     200        /* the reason of a moderator's decision */
#define HEARSAY_UID_HUB              UINT32_MAX /* of a decision that came from the hub */
#define HEARSAY_NOTICE_BYTES_MAX     500        /* the text of a notice */
#define HEARSAY_PLACE_NAME_BYTES_MAX 64         /* the name of a place of the host */
#define HEARSAY_DISTANCE_ONE         1000000u   /* distance 1, in millionths */

/* What a call returns. */
enum {
    HEARSAY_OK = 0,
    HEARSAY_FULL = 1,     /* too many requests are in flight: call hearsay_next first */
    HEARSAY_IDLE = 2,     /* no request is in flight, so no reply will come */
    HEARSAY_PENDING = 3,  /* no reply came within timeout_ms; the connection is fine */
    HEARSAY_NOT_OURS = 4, /* the group's key does not open this message */

    HEARSAY_ERR_ARGUMENT = -1, /* the call itself is wrong: a bad label, an unknown host, ... */
    HEARSAY_ERR_NOMEM = -2,    /* out of memory */
    HEARSAY_ERR_CONNECT = -3,  /* the server cannot be reached */
    HEARSAY_ERR_TIMEOUT = -4,  /* timeout_ms passed */
    HEARSAY_ERR_LOST = -5,     /* the connection broke; make a new one */
    HEARSAY_ERR_PROTOCOL = -6, /* the server violates the protocol; the connection is broken */
    HEARSAY_ERR_REFUSED = -7,  /* the server answered with an error: see `code` */
    HEARSAY_ERR_SYSTEM = -8,   /* the operating system refused something */
    HEARSAY_ERR_FILE = -9,     /* a file has the wrong content; the file is unchanged */
    HEARSAY_ERR_TRUST = -10    /* TLS failed, or the server's key or certificate is not trusted */
};

/*
 * Returns the name of a code, such as "RATE_LIMITED"; "UNKNOWN" for HEARSAY_CODE_NONE and for a
 * number that is not in the enum. Static storage.
 */
HEARSAY_API const char *hearsay_code_name(enum hearsay_code code);

struct hearsay_error {
    int status;             /* what the call returned */
    enum hearsay_code code; /* the server's code; HEARSAY_CODE_NONE unless ERR_REFUSED */
    char sentence[512]; /* a sentence for people. The sentence may contain text from the server: do
                         * not trust it. A long sentence is cut */
    char field[64]; /* the name of the field of the request that is wrong; "" if the server names no
                     * field */
    uint64_t retry_after_ms; /* wait this long before the next try; 0: the server did not say */
};

/*
 * Make fields for the structs of hearsay/messages.h, which borrow the argument. NULL makes an
 * absent field.
 */
HEARSAY_API struct hearsay_text hearsay_text(const char *text);
HEARSAY_API struct hearsay_bytes hearsay_bytes(const void *data, size_t count);

/* The library's version, such as "0.3.0". Static storage. */
HEARSAY_API const char *hearsay_version(void);

/*
 * Computes BLAKE2b-256 of `count` bytes. The hash has HEARSAY_HASH_BYTES bytes. A server stores
 * this hash in place of a withdraw token or a banned payload.
 */
HEARSAY_API void hearsay_hash(const void *bytes, size_t count, uint8_t *out_hash);

#ifdef __cplusplus
}
#endif

#endif
