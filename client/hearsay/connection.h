/* SPDX-License-Identifier: Apache-2.0 */
/* connection: connecting, TLS, and what a server says about itself. Part of hearsay.h. */
#ifndef HEARSAY_CONNECTION_H
#define HEARSAY_CONNECTION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- connecting ------------------------------------------------------------------------------- */

/* A connection to one server. */
struct hearsay;

/*
 * How to verify a TLS server. All fields may be NULL. The first rule below that applies decides:
 *
 *   1. `pins` given: the server's public key must be one of them. While an operator changes the
 *      key, give two pins: the old one and the new one.
 *   2. The server's certificate is valid for its name or address, by the roots in `ca`; by the
 *      system's roots where `ca` is NULL.
 *   3. `ca` not given: the server has the key that the file `known_servers` lists for it. A server
 *      that the file does not list is trusted and added (trust on first use): hearsay_tls_info
 *      tells.
 */
struct hearsay_tls {
    const char *const *pins;   /* SHA-256 of public keys (RFC 7469), 64 hexadecimal digits each */
    size_t pin_count;          /* 0: no pins */
    const char *ca;            /* path of a PEM file of root certificates */
    const char *known_servers; /* path of a text file, created if absent; its folder must exist */
    const char
        *certificate; /* path of a PEM file: the client's certificate, for servers that ask */
    const char *key;  /* path of a PEM file: the key of it; NULL: in the same file */
};

#define HEARSAY_RESUME_BYTES_MAX 64 /* a resume token */

/* Which server to connect to, and how. */
struct hearsay_connect {
    /*
     * HOST or HOST:PORT, where HOST is a name or an IPv4 address; [IPV6] or [IPV6]:PORT; an IPv6
     * address alone; or the path of a Unix socket, which contains a '/'. NULL: 127.0.0.1.
     */
    const char *server;
    const struct hearsay_tls *tls; /* TLS 1.2 or 1.3; NULL: no TLS. Not for Unix sockets */
    const char *agent; /* program and version for the operator's log, at most 127 bytes; NULL: the
                          library's */
    const uint8_t *resume_token; /* from an earlier Welcome, see `dropped` there; NULL: none */
    size_t resume_bytes;         /* at most HEARSAY_RESUME_BYTES_MAX */
    int timeout_ms;              /* for connecting and greeting together */
};

/* Defaults: all NULL or 0, timeout_ms 10,000. */
HEARSAY_API void hearsay_connect_init(struct hearsay_connect *options);

/*
 * Connects, verifies the server where there is TLS, and exchanges greetings. Tries every address of
 * a name. A name is looked up on a thread of its own; after a timeout that thread ends by itself.
 *
 * *out_server is owned: hearsay_close. ERR_ARGUMENT, ERR_CONNECT, ERR_TIMEOUT, ERR_LOST,
 * ERR_PROTOCOL, ERR_REFUSED, ERR_NOMEM, ERR_SYSTEM; with TLS also ERR_TRUST, ERR_FILE.
 */
HEARSAY_API int hearsay_connect(const struct hearsay_connect *options, struct hearsay **out_server,
                                struct hearsay_error *out_error);

/* Closes and frees the connection, and all that was borrowed from it. Does not wait. NULL is fine.
 */
HEARSAY_API void hearsay_close(struct hearsay *server);

/* --- TLS -------------------------------------------------------------------------------------- */

/* Why the server is trusted. */
enum hearsay_believed_by {
    HEARSAY_BELIEVED_PIN,
    HEARSAY_BELIEVED_CERTIFICATE,
    HEARSAY_BELIEVED_KNOWN,
    HEARSAY_BELIEVED_FIRST_USE /* nothing was verified, this one time: tell the user */
};

struct hearsay_tls_info {
    enum hearsay_believed_by believed_by;
    uint8_t pin[32]; /* SHA-256 of the server's public key */
};

/* About a connection with TLS, borrowed until hearsay_close; NULL for one without. */
HEARSAY_API const struct hearsay_tls_info *hearsay_tls_info(const struct hearsay *server);

/*
 * Reads the file of known servers and calls `take` for each, in the order of the file, with strings
 * that are borrowed for that call: HOST:PORT, and the pin as 64 hexadecimal digits. An absent file
 * counts as an empty one. ERR_FILE for a line that is neither a server nor a comment, ERR_SYSTEM,
 * ERR_NOMEM.
 */
HEARSAY_API int hearsay_known_each(const char *path,
                                   void (*take)(void *context, const char *server, const char *pin),
                                   void *context, struct hearsay_error *out_error);

/*
 * Removes a server (in the form of hearsay_connect) from that file; the next connection counts as
 * first use. *out_was_known: whether the file listed it. ERR_ARGUMENT for anything but a TCP
 * address; else as hearsay_known_each. The file is replaced as a whole, or not at all.
 */
HEARSAY_API int hearsay_known_remove(const char *path, const char *server, bool *out_was_known,
                                     struct hearsay_error *out_error);

/*
 * The pin of the first certificate in a PEM file: 64 hexadecimal digits and a NUL. ERR_FILE with
 * the reason, also where the library was built without TLS.
 */
#define HEARSAY_PIN_TEXT_BYTES 65
HEARSAY_API int hearsay_certificate_pin(const char *path, char out_pin[HEARSAY_PIN_TEXT_BYTES],
                                        struct hearsay_error *out_error);

/* --- what a server says about itself ---------------------------------------------------------- */

/* What the server allows; 0 where it does not say. */
struct hearsay_limits {
    uint32_t frame_bytes;          /* largest frame, without its length field */
    uint32_t payload_bytes;        /* of one message */
    uint32_t media_type_bytes;     /* of one message */
    uint32_t deposit_fill_min_ppm; /* fill of a message's filter: set bits / m, millionths */
    uint32_t deposit_fill_max_ppm;
    uint32_t query_fill_max_ppm; /* fill of a query's filter */
    uint32_t k_max;              /* results of one query */
    uint32_t ttl_default_s;      /* lifetime of a message */
    uint32_t ttl_max_s;
    uint32_t parts_max;            /* of one query */
    uint32_t requests_in_flight;   /* of one connection */
    uint32_t deposits_per_minute;  /* rate limit of this client's address; 0: none */
    uint32_t queries_per_minute;   /* likewise */
    uint32_t deposit_burst;        /* deposits at once, after a pause */
    uint32_t query_burst;          /* queries at once, after a pause */
    uint32_t sessions;             /* connections of all clients together */
    uint32_t sessions_per_address; /* 0: no limit */
    uint64_t session_output_bytes; /* replies that one client has not read yet */
    uint64_t messages;             /* stored, all hosts together */
    uint64_t bytes;                /* of payloads, media types and filters, all hosts together */
    uint32_t work_bits;            /* proof of work on each deposit and report; 0: none */
    uint32_t sender_share_ppm;     /* of k: most results from one sender; at least 1 result */
    uint32_t watches_per_session;  /* filters in the watches of one connection */
    uint32_t watches;              /* filters in the watches of all clients together */
};

/* What a full host does with a new message. */
enum hearsay_evict {
    HEARSAY_EVICT_REJECT = 1, /* refuses it: HEARSAY_CODE_QUOTA */
    HEARSAY_EVICT_OLDEST = 2, /* deletes the messages that were deposited first */
    HEARSAY_EVICT_SOONEST = 3 /* deletes the messages that would expire first */
};

/* What a host does with new messages. */
enum hearsay_accept {
    HEARSAY_ACCEPT_OPEN = 1,   /* shows them */
    HEARSAY_ACCEPT_REVIEW = 2, /* hides them until the operator has reviewed them */
    HEARSAY_ACCEPT_CLOSED = 3  /* refuses them: HEARSAY_CODE_FORBIDDEN */
};

/* A time interval of a host. Only clients on site are given its key. */
struct hearsay_epoch {
    uint64_t number;                /* 0: the host has no epochs */
    bool has_key;                   /* the server gave the key: the connection is one on site */
    uint8_t key[HEARSAY_KEY_BYTES]; /* with has_key */
    bool is_certain;                /* this very server gave the key: see hearsay_keyring_living */
    int64_t starts_ms;
    int64_t ends_ms; /* then the next epoch starts */
    int64_t kept_ms; /* then the server deletes the epoch and all its messages */
};

/* The message store of one access point. */
struct hearsay_host {
    const char *name;
    const char *profile;             /* text form, such as v1:512/4 */
    uint32_t suggested_max_distance; /* millionths; messages beyond it are mostly noise */
    uint64_t messages;               /* most messages that it stores; 0: not said */
    uint64_t bytes;                  /* of their payloads, media types and filters; 0: not said */
    enum hearsay_evict evict;
    enum hearsay_accept accept; /* at the time of the greeting */
    int64_t accept_until_ms;    /* when the schedule changes `accept`; 0: not said */
    struct hearsay_epoch epoch; /* the current one as far as read: see hearsay_current_epoch */
    /*
     * Labels of the access point's own surroundings at the time of the greeting, here_count of
     * them. 0 also where they did not fit into the greeting: ask with hearsay_here.
     */
    const char *const *here;
    size_t here_count;
};

/* The server's greeting. */
struct hearsay_welcome {
    uint32_t version; /* of the protocol */
    uint8_t store_id[HEARSAY_ID_BYTES];
    int64_t now_ms; /* the server's clock at the time of the greeting */
    bool clock_trusted;
    struct hearsay_limits limits;
    const char *const *capabilities; /* names of the requests that the server handles */
    size_t capability_count;
    const struct hearsay_host *hosts; /* host_count of them, at least 1; the first is the default */
    size_t host_count;
    const char *agent; /* the server's program and version; "" where it does not say */
    uint8_t resume_token[HEARSAY_RESUME_BYTES_MAX]; /* resume_bytes of them; 0: none */
    size_t resume_bytes;
    const struct hearsay_error *dropped; /* why the server closed the earlier connection whose
                                            resume token was sent; NULL: it did not */
};

/*
 * The greeting, borrowed until hearsay_close. It does not change, except for the hosts' epochs:
 * they change within calls on this connection.
 */
HEARSAY_API const struct hearsay_welcome *hearsay_welcome(const struct hearsay *server);

/* The server's clock now: now_ms of the greeting and the local time since then. */
HEARSAY_API int64_t hearsay_now_ms(const struct hearsay *server);

/* The host of that name (NULL: the default one), borrowed until hearsay_close; NULL: no such host.
 */
HEARSAY_API const struct hearsay_host *hearsay_find_host(const struct hearsay *server,
                                                         const char *name);

/*
 * The current epoch of a host (NULL: the default one); its number is 0 where the host has none.
 * Reads what has arrived from the server, without waiting. A program that stays connected calls
 * this before it makes a filter, and keys the filter with *out_epoch. An epoch that has ended
 * meanwhile still takes deposits and queries until its kept_ms. ERR_ARGUMENT for an unknown host;
 * else the error that broke the connection, as hearsay_next returns it.
 */
HEARSAY_API int hearsay_current_epoch(struct hearsay *server, const char *host,
                                      struct hearsay_epoch *out_epoch,
                                      struct hearsay_error *out_error);

/* Whether the server handles the request of that name ("export", ...). */
HEARSAY_API bool hearsay_has_capability(const struct hearsay *server, const char *name);

#ifdef __cplusplus
}
#endif

#endif
