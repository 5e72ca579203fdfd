/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection: connects to a server, with or without TLS, and describes the server. Part of
 * hearsay.h.
 */
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
 * How to verify a TLS server. All fields may be NULL. The first of these rules that applies
 * decides:
 *
 *   1. `pins` is given: the server is trusted only if its public key is one of the pins. While an
 *      operator replaces the key, give the pins of the old and of the new key.
 *   2. The server's certificate is valid for its name or address, by the roots in `ca`, or by the
 *      system's roots if `ca` is NULL: the server is trusted.
 *   3. `ca` is NULL and `known_servers` is given: the server is trusted if its key is the key that
 *      the file `known_servers` lists for the server. A server that the file does not list is
 *      trusted, and its key is added to the file (trust on first use). Otherwise the server is not
 *      trusted.
 */
struct hearsay_tls {
    const char *const *pins;   /* the keys that are accepted: SHA-256 of each public key (RFC 7469),
                                * 64 hexadecimal digits */
    size_t pin_count;          /* 0: no pins */
    const char *ca;            /* path of a PEM file of root certificates */
    const char *known_servers; /* path of the file of known servers, a text file. The file is
                                * created if absent; its folder must exist */
    const char *certificate;   /* path of a PEM file with the client's certificate, for servers that
                                * demand one */
    const char *key; /* path of a PEM file with the key of `certificate`; NULL: the key is in the
                      * file `certificate` */
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
    const char *agent; /* name and version of the program, at most 127 bytes. The server may log
                        * this text. NULL: the name and version of libhearsay */
    const uint8_t *resume_token; /* from an earlier Welcome, see `dropped` there; NULL: none */
    size_t resume_bytes;         /* at most HEARSAY_RESUME_BYTES_MAX */
    int timeout_ms;              /* for connecting and greeting together */
    /*
     * For a gateway, that is, a program that speaks for clients of another protocol: the address of
     * the client for whom the gateway speaks on this connection. A server that does not know
     * gateways ignores the address; check hearsay_has_capability with "on_behalf". NULL: the
     * gateway speaks for itself.
     */
    const uint8_t *on_behalf;
    size_t on_behalf_bytes;         /* 4 (IPv4) or 16 (IPv6); 0 with NULL */
    const uint8_t *on_behalf_local; /* 16 bytes: the gateway's own IPv6 address, to which the client
                                     * of on_behalf has connected; NULL: not said */
    bool is_small; /* true: to take less memory, the connection reads at most 4 KiB at a time and
                    * has at most 16 requests in flight */
};

/* Defaults: all NULL, 0 or false, timeout_ms 10,000. */
HEARSAY_API void hearsay_connect_init(struct hearsay_connect *options);

/*
 * Connects, verifies the server if TLS is used, and exchanges greetings. If a name has several
 * addresses, tries one after another. A separate thread looks up the name; the thread may still run
 * for a while after ERR_TIMEOUT.
 *
 * The caller frees *out_server with hearsay_close. Returns HEARSAY_OK, ERR_ARGUMENT, ERR_CONNECT,
 * ERR_TIMEOUT, ERR_LOST, ERR_PROTOCOL, ERR_REFUSED, ERR_NOMEM or ERR_SYSTEM; with TLS also
 * ERR_TRUST or ERR_FILE.
 */
HEARSAY_API int hearsay_connect(const struct hearsay_connect *options, struct hearsay **out_server,
                                struct hearsay_error *out_error);

/*
 * Begins to connect and returns at once, for programs with an event loop. Takes only Unix sockets
 * and numeric addresses, without TLS; everything else is ERR_ARGUMENT. timeout_ms counts from this
 * call. The caller owns *out_server and frees it with hearsay_close. Until hearsay_connect_continue
 * has returned HEARSAY_OK, only hearsay_fd, hearsay_connect_continue and hearsay_close may be
 * called. Returns HEARSAY_OK, ERR_ARGUMENT, ERR_CONNECT, ERR_TIMEOUT, ERR_NOMEM or ERR_SYSTEM.
 */
HEARSAY_API int hearsay_connect_begin(const struct hearsay_connect *options,
                                      struct hearsay **out_server, struct hearsay_error *out_error);

/*
 * Continues a connection that hearsay_connect_begin has begun, without waiting. HEARSAY_OK: the
 * greetings are exchanged, and all calls may be used, as after hearsay_connect. HEARSAY_PENDING:
 * wait until the socket of hearsay_fd is ready, or until timeout_ms has passed, and call again.
 * After another result, which is an error of hearsay_connect, only hearsay_close may be called.
 */
HEARSAY_API int hearsay_connect_continue(struct hearsay *server, struct hearsay_error *out_error);

/*
 * Returns whether an error has ended the connection. All later calls then return this error, which
 * may be ERR_REFUSED with any code: close the connection and make a new one. Reads nothing, so a
 * server that has gone is noticed by the next call that sends or reads.
 */
HEARSAY_API bool hearsay_is_broken(const struct hearsay *server);

/*
 * Closes the connection, and frees it and everything that the caller borrowed from it. Does not
 * wait. NULL is allowed.
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

/* Returns why the client trusts the server, and the pin of the server's key. The struct is borrowed
 * until hearsay_close. Returns NULL for a connection without TLS. */
HEARSAY_API const struct hearsay_tls_info *hearsay_tls_info(const struct hearsay *server);

/*
 * Reads the file of known servers and calls `take` for each server, in the order of the file.
 * `take` gets HOST:PORT and the pin as 64 hexadecimal digits; `take` must not keep the two strings.
 * An absent file counts as empty. At a line that is not empty, not a comment and not a server with
 * its pin, the call ends with ERR_FILE. Returns HEARSAY_OK, ERR_FILE, ERR_SYSTEM or ERR_NOMEM.
 */
HEARSAY_API int hearsay_known_each(const char *path,
                                   void (*take)(void *context, const char *server, const char *pin),
                                   void *context, struct hearsay_error *out_error);

/*
 * Removes a server from the file of known servers, so that the next connection to this server can
 * be the first use again. `server` has the form that hearsay_connect takes. *out_was_known tells
 * whether the file listed the server. Returns ERR_ARGUMENT for anything except a TCP address; else
 * what hearsay_known_each returns. The file is replaced atomically.
 */
HEARSAY_API int hearsay_known_remove(const char *path, const char *server, bool *out_was_known,
                                     struct hearsay_error *out_error);

/*
 * Computes the pin of the first certificate in a PEM file, as 64 hexadecimal digits and a NUL.
 * Returns HEARSAY_OK or ERR_FILE; ERR_FILE also if the library was built without TLS.
 */
#define HEARSAY_PIN_TEXT_BYTES 65
HEARSAY_API int hearsay_certificate_pin(const char *path, char out_pin[HEARSAY_PIN_TEXT_BYTES],
                                        struct hearsay_error *out_error);

/* --- what a server says about itself ---------------------------------------------------------- */

/*
 * An epoch: a time interval of a host. The server gives the key of an epoch only to clients of
 * listeners that its operator has marked as local.
 */
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
    const char *profile;             /* text form, such as v2:512/4 */
    uint32_t suggested_max_distance; /* millionths; messages beyond it are mostly noise */
    uint64_t messages;               /* most messages that it stores; 0: not said */
    uint64_t bytes;                  /* of their payloads, media types and filters; 0: not said */
    enum hearsay_evict evict;
    enum hearsay_acceptance accept; /* at the greeting; for a gateway that speaks for itself: now */
    int64_t accept_until_ms;        /* when the schedule changes `accept`; 0: not said */
    struct hearsay_epoch epoch;     /* the current one as far as read: see hearsay_current_epoch */
    /*
     * Labels of the access point's surroundings, here_count of them, as in the greeting. here_count
     * is 0 if there were none, and also if the labels did not fit in the greeting.
     * HEARSAY_REQUEST_HERE gets all labels.
     */
    const struct hearsay_text *here;
    size_t here_count;
    /*
     * For a gateway that speaks for itself: the notices as far as read, notice_count of them,
     * oldest first; valid until the next call on the connection. Other clients get them with each
     * answer to a query.
     */
    const struct hearsay_house_notice *notices;
    size_t notice_count;
    uint64_t notices_version; /* another number for other notices; 0: there are none */
    const char *hood;         /* the name of its hood; NULL: it belongs to none */
    enum hearsay_role role;   /* at the greeting */
};

/* The server's greeting. */
struct hearsay_welcome {
    uint32_t version; /* of the protocol */
    uint8_t store_id[HEARSAY_ID_BYTES];
    int64_t now_ms; /* the server's clock at the time of the greeting */
    bool clock_trusted;
    struct hearsay_limits limits;
    const struct hearsay_text *capabilities; /* names of the requests that the server handles */
    size_t capability_count;
    const struct hearsay_host *hosts; /* host_count of them, at least 1; the first is the default */
    size_t host_count;
    const char *agent; /* the server's program and version; "" where it does not say */
    uint8_t resume_token[HEARSAY_RESUME_BYTES_MAX]; /* resume_bytes of them; 0: none */
    size_t resume_bytes;
    /* why the server closed the earlier connection whose resume token the caller gave to
     * hearsay_connect; NULL: the server has given no reason */
    const struct hearsay_error *dropped;
};

/*
 * Returns the greeting of the server, borrowed until hearsay_close. Only the epochs of the hosts
 * change, and only within calls on this connection.
 */
HEARSAY_API const struct hearsay_welcome *hearsay_welcome(const struct hearsay *server);

/*
 * Returns the time of the server's clock now: the time in the greeting plus the time since the
 * greeting arrived, by the local monotonic clock.
 */
HEARSAY_API int64_t hearsay_now_ms(const struct hearsay *server);

/*
 * Returns the host with this name, or the default host if `name` is NULL. The host is borrowed
 * until hearsay_close. Returns NULL when the server has no such host.
 */
HEARSAY_API const struct hearsay_host *hearsay_find_host(const struct hearsay *server,
                                                         const char *name);

/*
 * Gets the current epoch of a host; host NULL is the default host. out_epoch->number is 0 if the
 * host has no epochs. The call reads what has arrived from the server, without waiting. A program
 * with a long connection should make this call before it encodes a filter, and key the filter with
 * the epoch's key. An epoch that has ended accepts deposits and queries until its kept_ms. Returns
 * HEARSAY_OK, ERR_ARGUMENT for an unknown host, or an error of hearsay_next.
 */
HEARSAY_API int hearsay_current_epoch(struct hearsay *server, const char *host,
                                      struct hearsay_epoch *out_epoch,
                                      struct hearsay_error *out_error);

/*
 * For a gateway whose connection was made without on_behalf: all requests from now on are those of
 * the client with this address of 4 bytes (IPv4) or 16 (IPv6), so that the client pays for them as
 * if it had come itself. The server takes such requests only if they read: queries, gets, summaries
 * and here labels, which are those of the client; it refuses others with INVALID, field on_behalf.
 * A server of 0.2.0 does not know whom a request is for, and takes it as the gateway's: check
 * hearsay_has_capability with "request_on_behalf". `local` is the gateway's own IPv6 address of 16
 * bytes, to which a client with an IPv6 address has connected; NULL: not said. `address` NULL: the
 * gateway's own requests again. Both are copied. Anything else is ERR_ARGUMENT.
 */
HEARSAY_API int hearsay_ask_for(struct hearsay *server, const uint8_t *address,
                                size_t address_bytes, const uint8_t *local,
                                struct hearsay_error *out_error);

/*
 * Returns whether `capabilities` of the greeting has this name: of a request, such as "export", or
 * of an extension, such as "on_behalf".
 */
HEARSAY_API bool hearsay_has_capability(const struct hearsay *server, const char *name);

#ifdef __cplusplus
}
#endif

#endif
