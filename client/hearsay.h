/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay: leave a message at an access point, find the messages of similar contexts.
 *
 * A `struct hearsay` is one connection to one server. Calls block up to a deadline; there are no
 * callbacks, no threads that outlive a call that succeeded, and no global state. The library is
 * thread-compatible: use a connection from one thread at a time, and as many connections as you
 * like.
 *
 * Every call that can fail returns an int:
 *   0         HEARSAY_OK.
 *   negative  HEARSAY_ERR_..., described in *out_error unless that is NULL. Outputs are untouched.
 *   positive  HEARSAY_FULL, HEARSAY_IDLE or HEARSAY_PENDING, where a call says so: nothing is
 * wrong.
 *
 * Units. *_ms: milliseconds; points in time are Unix milliseconds by the server's clock. *_s:
 * seconds. Distances and similarities are millionths, 0 to 1,000,000. timeout_ms is how long a
 * call may take, 0 (do not wait) to INT_MAX. Strings are UTF-8 with a NUL at the end. Structs that
 * are filled in by the caller have an _init function that sets the defaults; call it first.
 *
 * A first program, without its error checks:
 *
 *   struct hearsay *server;
 *   hearsay_connect("127.0.0.1", NULL, 5000, &server, NULL);
 *   const char *labels[] = {"wifi:a4:2b:8c:01:02:03", "topic:coffee"};
 *   struct hearsay_filter here;
 *   hearsay_encode(server, NULL, labels, 2, &here, NULL);
 *   struct hearsay_part part = {.filter = &here};
 *   struct hearsay_query query;
 *   hearsay_query_init(&query);
 *   query.parts = &part;
 *   query.part_count = 1;
 *   const struct hearsay_results *found;
 *   hearsay_query(server, &query, 5000, &found, NULL);
 *   hearsay_close(server);
 */
#ifndef HEARSAY_H
#define HEARSAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEARSAY_API __attribute__((visibility("default")))
#else
#define HEARSAY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEARSAY_PORT             7117       /* TCP, where an address names none */
#define HEARSAY_ID_BYTES         16         /* a message's id, a store's id */
#define HEARSAY_TOKEN_BYTES      32         /* a withdraw token */
#define HEARSAY_HASH_BYTES       32         /* its hash, BLAKE2b-256 */
#define HEARSAY_KEY_BYTES        32         /* an epoch's key */
#define HEARSAY_RESUME_BYTES_MAX 64         /* a resume token */
#define HEARSAY_NO_SEQ           UINT64_MAX /* instead of a sequence number: from now on */
#define HEARSAY_FILTER_BYTES_MAX 512        /* 4096 bits */
#define HEARSAY_DISTANCE_ONE     1000000u   /* distance 1, in millionths */

/* What a call returns. */
enum {
    HEARSAY_OK = 0,
    HEARSAY_FULL = 1,     /* too much is under way: take replies with hearsay_next first */
    HEARSAY_IDLE = 2,     /* nothing is under way, so no reply will come */
    HEARSAY_PENDING = 3,  /* no reply has come within timeout_ms; the connection is fine */
    HEARSAY_NOT_OURS = 4, /* the group's key does not open this message */

    HEARSAY_ERR_ARGUMENT = -1, /* the call itself is wrong: a bad label, an unknown host, ... */
    HEARSAY_ERR_NOMEM = -2,    /* out of memory */
    HEARSAY_ERR_CONNECT = -3,  /* the server could not be reached */
    HEARSAY_ERR_TIMEOUT = -4,  /* timeout_ms passed */
    HEARSAY_ERR_LOST = -5,     /* the connection broke; make a new one */
    HEARSAY_ERR_PROTOCOL = -6, /* the peer does not keep the protocol; the connection is broken */
    HEARSAY_ERR_REFUSED = -7,  /* the server answered with an error: see `code` */
    HEARSAY_ERR_SYSTEM = -8,   /* the operating system refused something */
    HEARSAY_ERR_FILE = -9,     /* a file is not what it should be; it was left as it is */
    HEARSAY_ERR_TRUST = -10    /* TLS: no encryption, or not with a server that can be believed */
};

/* The server's reasons, as in the protocol. */
enum hearsay_code {
    HEARSAY_CODE_NONE = 0,
    HEARSAY_CODE_MALFORMED = 1,
    HEARSAY_CODE_UNSUPPORTED_VERSION = 2,
    HEARSAY_CODE_UNSUPPORTED = 3,
    HEARSAY_CODE_INVALID = 4,
    HEARSAY_CODE_UNKNOWN_HOST = 5,
    HEARSAY_CODE_UNKNOWN_EPOCH = 6,
    HEARSAY_CODE_PROFILE_MISMATCH = 7,
    HEARSAY_CODE_TOO_LARGE = 8,
    HEARSAY_CODE_FILL_OUT_OF_RANGE = 9,
    HEARSAY_CODE_RATE_LIMITED = 10,
    HEARSAY_CODE_QUOTA = 11,
    HEARSAY_CODE_NOT_FOUND = 12,
    HEARSAY_CODE_ALREADY_EXISTS = 13,
    HEARSAY_CODE_FORBIDDEN = 14,
    HEARSAY_CODE_STORAGE = 15,
    HEARSAY_CODE_SHUTTING_DOWN = 16,
    HEARSAY_CODE_INTERNAL = 17
};

/* "RATE_LIMITED" and so on; "UNKNOWN" for a number that is none of them. Static storage. */
HEARSAY_API const char *hearsay_code_name(enum hearsay_code code);

struct hearsay_error {
    int status;              /* what the call returned */
    enum hearsay_code code;  /* the server's reason; HEARSAY_CODE_NONE unless ERR_REFUSED */
    char sentence[512];      /* for people; never empty. The server's words: not to be trusted */
    char field[64];          /* the request's field that is wrong; "" where none is */
    uint64_t retry_after_ms; /* worth trying again after so long; 0: not said */
};

/* The library's version, "0.1.0". Static storage. */
HEARSAY_API const char *hearsay_version(void);

/* --- connecting ------------------------------------------------------------------------------- */

struct hearsay;

/*
 * Connects and exchanges greetings; all of it together may take timeout_ms.
 *
 * server: HOST or HOST:PORT with a name or an IPv4 address, [IPV6] or [IPV6]:PORT, a bare IPv6
 * address, or the path of a Unix socket, known by its '/'. NULL: 127.0.0.1. Every address of a
 * name is tried. A name is looked up on a thread of its own, which ends by itself where the
 * deadline passes first.
 * agent: program and version for the operator's log, at most 127 bytes; NULL: the library's.
 *
 * *out_server is owned by the caller: hearsay_close. ERR_ARGUMENT, ERR_CONNECT, ERR_TIMEOUT,
 * ERR_LOST, ERR_PROTOCOL, ERR_REFUSED, ERR_NOMEM, ERR_SYSTEM.
 */
HEARSAY_API int hearsay_connect(const char *server, const char *agent, int timeout_ms,
                                struct hearsay **out_server, struct hearsay_error *out_error);

/*
 * How to encrypt, and whom to believe. All are NULL at first and borrowed during the call.
 *
 * With `pins` only a server with one of these keys is believed, by nothing else. Give two while an
 * operator changes the key: the old one and the new one. Else one whose certificate
 * is good for its name or address, by the roots in `ca`, or by the system's where that is NULL.
 * Else, unless `ca` is given, one that has the key that `known_servers` has for it; a server met
 * for the first time is believed, and entered there: see hearsay_tls_info.
 */
struct hearsay_tls {
    const char *const
        *pins; /* pin_count SHA-256 of public keys (RFC 7469), 64 hexadecimal digits */
    size_t pin_count;
    const char *ca;            /* PEM file of roots */
    const char *known_servers; /* text file, made if it is not there; its folder must be there */
    const char *certificate;   /* PEM file of one's own, where a server asks for it */
    const char *key;           /* PEM file of its key; NULL: in the same file */
};
HEARSAY_API void hearsay_tls_init(struct hearsay_tls *tls);

/*
 * The same as hearsay_connect, over TLS 1.2 or 1.3, to a listener that speaks it. Nothing is said
 * before the server is believed. Also ERR_TRUST, ERR_FILE; ERR_ARGUMENT for a Unix socket.
 */
HEARSAY_API int hearsay_connect_tls(const char *server, const struct hearsay_tls *tls,
                                    const char *agent, int timeout_ms, struct hearsay **out_server,
                                    struct hearsay_error *out_error);

/*
 * The file of known servers. hearsay_known_each calls `take` for each, in the order of the file,
 * with strings that are borrowed for the call: HOST:PORT, and the pin as 64 hexadecimal digits. No
 * file is as good as an empty one. ERR_FILE for a line that is neither a server nor a comment,
 * ERR_SYSTEM, ERR_NOMEM.
 */
HEARSAY_API int hearsay_known_each(const char *path,
                                   void (*take)(void *context, const char *server, const char *pin),
                                   void *context, struct hearsay_error *out_error);

/*
 * Removes a server (as for hearsay_connect) from the file, so that it is met for the first time
 * again. *out_was_known: whether it was there. ERR_ARGUMENT for what is no TCP address; else as
 * hearsay_known_each. The file is replaced whole or not at all.
 */
HEARSAY_API int hearsay_known_remove(const char *path, const char *server, bool *out_was_known,
                                     struct hearsay_error *out_error);

/*
 * The pin of the first certificate in a PEM file, 64 hexadecimal digits and a NUL. ERR_FILE with
 * the reason, also where the library was built without TLS.
 */
#define HEARSAY_PIN_TEXT_BYTES 65
HEARSAY_API int hearsay_certificate_pin(const char *path, char out_pin[HEARSAY_PIN_TEXT_BYTES],
                                        struct hearsay_error *out_error);

/* How the server was believed. */
enum hearsay_believed_by {
    HEARSAY_BELIEVED_PIN,
    HEARSAY_BELIEVED_CERTIFICATE,
    HEARSAY_BELIEVED_KNOWN,
    HEARSAY_BELIEVED_FIRST_USE /* tell the user: this once, nothing was checked */
};

struct hearsay_tls_info {
    enum hearsay_believed_by believed_by;
    uint8_t pin[32]; /* of the server's key */
};

/* Of an encrypted connection, until hearsay_close; NULL for one that is not. */
HEARSAY_API const struct hearsay_tls_info *hearsay_tls_info(const struct hearsay *server);

/* Closes and frees, and what was borrowed with it. Does not wait for anything. NULL is fine. */
HEARSAY_API void hearsay_close(struct hearsay *server);

/* What the server allows; 0 where it did not say. */
struct hearsay_limits {
    uint32_t frame_bytes;          /* largest frame, without its length */
    uint32_t payload_bytes;        /* of one message */
    uint32_t media_type_bytes;     /* of one message */
    uint32_t deposit_fill_min_ppm; /* set bits / m of a message's filter, millionths */
    uint32_t deposit_fill_max_ppm;
    uint32_t query_fill_max_ppm;
    uint32_t k_max;
    uint32_t ttl_default_s;
    uint32_t ttl_max_s;
    uint32_t parts_max;           /* of one query */
    uint32_t requests_in_flight;  /* of one connection */
    uint32_t deposits_per_minute; /* of this machine's address, in the long run; 0: no limit */
    uint32_t queries_per_minute;
    uint32_t deposit_burst; /* so many at once, after a while without any */
    uint32_t query_burst;
    uint32_t sessions;             /* of all clients together */
    uint32_t sessions_per_address; /* 0: no limit */
    uint64_t session_output_bytes; /* that wait for one client to read them */
    uint64_t messages;             /* stored, all hosts together */
    uint64_t bytes;                /* of payloads, media types and filters, all hosts together */
    uint32_t work_bits;            /* of the proof of work on each deposit and report; 0: none */
    uint32_t sender_share_ppm;     /* of k, that one sender's messages may be; at least 1 */
    uint32_t watches_per_session;  /* filters that stand in one connection's watches */
    uint32_t watches;              /* the same, of all clients together */
};

/* What becomes of a message that is left where there is no room. */
enum hearsay_evict {
    HEARSAY_EVICT_REJECT = 1, /* it is refused: HEARSAY_CODE_QUOTA */
    HEARSAY_EVICT_OLDEST = 2, /* the messages left first go */
    HEARSAY_EVICT_SOONEST = 3 /* those go that would expire first */
};

/* What becomes of messages that are left at a host. */
enum hearsay_accept {
    HEARSAY_ACCEPT_OPEN = 1,   /* they are shown */
    HEARSAY_ACCEPT_REVIEW = 2, /* they are held until the operator has looked at them */
    HEARSAY_ACCEPT_CLOSED = 3  /* they are refused: HEARSAY_CODE_FORBIDDEN */
};

/* An interval of a host with a key that only those on site are given. */
struct hearsay_epoch {
    uint64_t number;                /* 0: there is none */
    bool has_key;                   /* the connection came by a listener for those on site */
    uint8_t key[HEARSAY_KEY_BYTES]; /* with has_key */
    bool is_certain;                /* this server gave the key: see hearsay_keyring_living */
    int64_t starts_ms;              /* by the server's clock */
    int64_t ends_ms;                /* the next one begins */
    int64_t kept_ms;                /* then the epoch and all its messages are gone */
};

/* One access point's message store. */
struct hearsay_host {
    const char *name;
    const char *profile;             /* text form, v1:512/4 */
    uint32_t suggested_max_distance; /* millionths; further messages are mostly noise */
    uint64_t messages;               /* that it stores at most; 0: not said */
    uint64_t bytes;                  /* of their payloads, media types and filters */
    enum hearsay_evict evict;
    enum hearsay_accept accept; /* as the connection was made, */
    int64_t accept_until_ms;    /* ... and until the schedule changes it; 0: not said */
    struct hearsay_epoch epoch; /* the current one, as the server has told: hearsay_current_epoch */
    /* What is around the access point, by its own account, as the connection was made. None may
     * also mean that there was no room for them: hearsay_here. */
    const char *const *here; /* here_count labels */
    size_t here_count;
};

struct hearsay_welcome {
    uint32_t version; /* of the protocol */
    uint8_t store_id[HEARSAY_ID_BYTES];
    int64_t now_ms; /* the server's clock, as the connection was made */
    bool clock_trusted;
    struct hearsay_limits limits;
    const char *const *capabilities; /* capability_count names of requests that are served */
    size_t capability_count;
    const struct hearsay_host *hosts; /* host_count of them, at least 1; the first is the default */
    size_t host_count;
    const char *agent; /* the server's program and version, "" where it did not say */
    uint8_t resume_token[HEARSAY_RESUME_BYTES_MAX]; /* resume_bytes of them; 0: it gave none */
    size_t resume_bytes;
    const struct hearsay_error *dropped; /* why the server dropped the connection whose token was
                                            shown; NULL: it did not */
};

/*
 * What the server said of itself. Borrowed until hearsay_close. All of it is as it was when the
 * connection was made, but for the hosts' epochs, which change within calls on this connection.
 */
HEARSAY_API const struct hearsay_welcome *hearsay_welcome(const struct hearsay *server);

/* The server's clock now: Welcome's, moved on by the local monotonic clock. */
HEARSAY_API int64_t hearsay_now_ms(const struct hearsay *server);

/* The host of that name, NULL for the default one; NULL if there is none such. Borrowed. */
HEARSAY_API const struct hearsay_host *hearsay_find_host(const struct hearsay *server,
                                                         const char *name);

/*
 * The current epoch of a host (NULL: the default one), number 0 where it has none. Reads what the
 * server has told since the last call, and does not wait: programs that stay connected while epochs
 * turn call this before they make a filter, and key that with what they get here. An epoch that has
 * ended meanwhile can still be deposited and asked in until its kept_ms. ERR_ARGUMENT for an
 * unknown host; else why the connection is of no use any more, as hearsay_next says.
 */
HEARSAY_API int hearsay_current_epoch(struct hearsay *server, const char *host,
                                      struct hearsay_epoch *out_epoch,
                                      struct hearsay_error *out_error);

/* Whether the server serves the request of that name ("export", ...). */
HEARSAY_API bool hearsay_has_capability(const struct hearsay *server, const char *name);

/* --- contexts --------------------------------------------------------------------------------- */

/* The Bloom filter of a context; bit p is bit p % 8 of byte p / 8. A plain value. */
struct hearsay_filter {
    uint32_t bits;       /* m */
    uint32_t byte_count; /* ceil(m / 8) */
    uint8_t bytes[HEARSAY_FILTER_BYTES_MAX];
};

/*
 * The filter of `label_count` labels ("attribute:value", at most 240 bytes each, compared byte for
 * byte) under the profile of a host (NULL: the default one), or under a profile in text form.
 * label_count >= 1: an empty context is an error. Labels may repeat. Give all labels of a context
 * in one call: joint sections of a profile hold pairs of them, so filters cannot be put together
 * afterwards. ERR_ARGUMENT, with the label named in the sentence, and where the profile has no
 * section for its attribute also the sections that it has; hearsay_encode: also ERR_PROTOCOL when
 * the host's profile is of a kind that this library does not know.
 */
HEARSAY_API int hearsay_encode(const struct hearsay *server, const char *host,
                               const char *const *labels, size_t label_count,
                               struct hearsay_filter *out_filter, struct hearsay_error *out_error);
HEARSAY_API int hearsay_encode_profile(const char *profile, const char *const *labels,
                                       size_t label_count, struct hearsay_filter *out_filter,
                                       struct hearsay_error *out_error);

/* --- secrets: groups and epochs --------------------------------------------------------------- */

#define HEARSAY_SECRET_BYTES_MIN 8 /* of a group */
#define HEARSAY_SECRET_BYTES_MAX 1024
#define HEARSAY_SEALED_TYPE      "application/vnd.hearsay.sealed"
#define HEARSAY_SEAL_BYTES       41 /* that sealing adds, besides the media type */

/*
 * A group: people who share a secret. Their labels are keyed with it, so that their messages meet
 * one another and nobody else's, and their messages are sealed.
 */
struct hearsay_group;

/*
 * The group of a secret, its bytes as they are (UTF-8 for people). By design slow: it takes 64 MiB
 * and some tenths of a second, so that guessing is. Owned: hearsay_group_free, which wipes it.
 * ERR_ARGUMENT for a secret that is too short or too long, ERR_NOMEM, ERR_SYSTEM.
 */
HEARSAY_API int hearsay_group_new(const void *secret, size_t secret_bytes,
                                  struct hearsay_group **out_group,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_group_free(struct hearsay_group *group); /* NULL is fine */

/* What labels are keyed with; either may be NULL. Borrowed. */
struct hearsay_keys {
    const struct hearsay_group *group;
    const uint8_t *epoch_key; /* HEARSAY_KEY_BYTES */
};

/* As hearsay_encode and hearsay_encode_profile, keyed. keys NULL: not at all. */
HEARSAY_API int hearsay_encode_keyed(const struct hearsay *server, const char *host,
                                     const struct hearsay_keys *keys, const char *const *labels,
                                     size_t label_count, struct hearsay_filter *out_filter,
                                     struct hearsay_error *out_error);
HEARSAY_API int hearsay_encode_profile_keyed(const char *profile, const struct hearsay_keys *keys,
                                             const char *const *labels, size_t label_count,
                                             struct hearsay_filter *out_filter,
                                             struct hearsay_error *out_error);

/* Media type and payload, sealed or opened. Owned: hearsay_content_free, which wipes it. */
struct hearsay_content {
    char media_type[128];
    uint8_t *payload;
    size_t payload_bytes;
};
HEARSAY_API void hearsay_content_free(struct hearsay_content *content); /* a zeroed one is fine */

/* 16 random bytes: an id for a message to be sealed. */
HEARSAY_API void hearsay_make_id(uint8_t *out_id);

/*
 * Seals a message that is to be deposited under the id: give the content's type and payload to
 * hearsay_deposit, the same again where a deposit is repeated. media_type NULL: text/plain.
 * ERR_ARGUMENT, also for what no server takes as a media type; ERR_NOMEM.
 */
HEARSAY_API int hearsay_group_seal(const struct hearsay_group *group, const uint8_t *id,
                                   const char *media_type, const void *payload,
                                   size_t payload_bytes, struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

/*
 * The same, with the same bytes each time for the same group, id, type and payload: for programs
 * that deposit again after they have forgotten what they sent. The nonce is derived from all of it.
 */
HEARSAY_API int hearsay_group_seal_again(const struct hearsay_group *group, const uint8_t *id,
                                         const char *media_type, const void *payload,
                                         size_t payload_bytes, struct hearsay_content *out_content,
                                         struct hearsay_error *out_error);

/*
 * Opens what was found. HEARSAY_NOT_OURS when it is not sealed, sealed by others, under another id,
 * or has been changed. The media type is text/plain where the message has none inside, and
 * application/octet-stream where it has something else inside. ERR_NOMEM.
 */
HEARSAY_API int hearsay_group_open(const struct hearsay_group *group, const uint8_t *id,
                                   const char *media_type, const uint8_t *payload,
                                   size_t payload_bytes, struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

/* --- building contexts ------------------------------------------------------------------------ */

#define HEARSAY_CONTEXT_LABELS_MAX  4096              /* of one context */
#define HEARSAY_SCAN_BYTES_MAX      (4 * 1024 * 1024) /* of the text of one scan */
#define HEARSAY_SCAN_LINE_BYTES_MAX 4096              /* of one of its lines */
#define HEARSAY_SCAN_SIGHTINGS_MAX  1024              /* access points in it */
#define HEARSAY_WIFI_DBM_MIN        (-127)
#define HEARSAY_WIFI_DBM_MAX        0
#define HEARSAY_WIFI_NO_STRENGTH    1 /* instead of a strength in dBm: it is not known */

/*
 * A set of labels that grows. It turns what a device senses into labels by the rules of
 * docs/contexts.md, which every client must follow for contexts to meet. The calls below return
 * HEARSAY_OK, HEARSAY_ERR_ARGUMENT with what is wrong named, or HEARSAY_ERR_NOMEM. After an error
 * a context may hold a part of what was added: clear or free it. A label that is there already
 * changes nothing; beyond HEARSAY_CONTEXT_LABELS_MAX labels it is ERR_ARGUMENT.
 */
struct hearsay_context;

/* An empty one, owned by the caller: hearsay_context_free. ERR_NOMEM. */
HEARSAY_API int hearsay_context_new(struct hearsay_context **out_context,
                                    struct hearsay_error *out_error);
HEARSAY_API void hearsay_context_free(struct hearsay_context *context); /* NULL is fine */

/* Back to the empty set, for another context. */
HEARSAY_API void hearsay_context_clear(struct hearsay_context *context);

/*
 * The labels in the order in which they came, for hearsay_encode. Borrowed until the next call that
 * adds, clears or frees. Not NULL, also when *out_count is 0.
 */
HEARSAY_API const char *const *hearsay_context_labels(const struct hearsay_context *context,
                                                      size_t *out_count);

/* A label as it stands, byte for byte. */
HEARSAY_API int hearsay_context_add_label(struct hearsay_context *context, const char *label,
                                          struct hearsay_error *out_error);

/*
 * An access point that is heard. bssid: six bytes in hexadecimal of either case, separated by
 * colons or by dashes or by nothing. strength_dbm: HEARSAY_WIFI_DBM_MIN .. _MAX, or
 * HEARSAY_WIFI_NO_STRENGTH. The labels are wifi:BSSID, wifi:BSSID@2, ... up to the level, which is
 * max(1, ceil((strength + 90) / 8)), and 1 without a strength.
 */
HEARSAY_API int hearsay_context_add_wifi(struct hearsay_context *context, const char *bssid,
                                         int strength_dbm, struct hearsay_error *out_error);

/*
 * A position in WGS84 degrees, latitude -90 to 90, longitude -180 to 180: geo:HASH with the
 * geohashes of 5, 6, 7 and 8 characters, of its own cells first. neighbours: also those of the up
 * to eight cells around, of each length, so that those who are near one another across the edge of
 * a cell share labels too. Both sides should do the same.
 */
HEARSAY_API int hearsay_context_add_position(struct hearsay_context *context, double latitude,
                                             double longitude, bool neighbours,
                                             struct hearsay_error *out_error);

/*
 * A moment, Unix milliseconds, years 0000 to 9999: time:2026-11-20T14, the hour in UTC, and
 * time:w5T14, the hour of the week in UTC (w1 is Monday).
 */
HEARSAY_API int hearsay_context_add_time(struct hearsay_context *context, int64_t unix_ms,
                                         struct hearsay_error *out_error);

/*
 * A topic in UTF-8: topic:TEXT with the NFC of the full case folding of the NFC of the text,
 * without white space of ASCII at its ends. No locale plays a part.
 */
HEARSAY_API int hearsay_context_add_topic(struct hearsay_context *context, const char *topic,
                                          struct hearsay_error *out_error);

/*
 * The access points in the output of `iw dev DEVICE scan`, or of `nmcli -t -f BSSID,SIGNAL device
 * wifi list`, `byte_count` bytes; which of the two, the first line tells. Other lines of iw are
 * passed over. nmcli's percentages become dBm by the inverse of NetworkManager's formula.
 * *out_sightings (may be NULL) counts access points. ERR_ARGUMENT names the line.
 */
HEARSAY_API int hearsay_context_add_scan(struct hearsay_context *context, const char *text,
                                         size_t byte_count, size_t *out_sightings,
                                         struct hearsay_error *out_error);

/* --- what is asked ---------------------------------------------------------------------------- */

/* A message to leave. Everything is borrowed for the call only. */
struct hearsay_deposit {
    const char *host;                    /* NULL: the default one */
    uint64_t epoch;                      /* 0: the open one */
    const struct hearsay_filter *filter; /* required */
    const char *media_type;              /* NULL: text/plain */
    const void *payload;                 /* NULL only with payload_bytes 0 */
    size_t payload_bytes;
    uint32_t ttl_s;               /* 0: the server's default */
    uint32_t reach;               /* millionths; beyond it nobody is shown the message */
    const uint8_t *id;            /* HEARSAY_ID_BYTES; NULL: random */
    const uint8_t *token;         /* HEARSAY_TOKEN_BYTES; NULL: random */
    const uint8_t *withdraw_hash; /* HEARSAY_HASH_BYTES, instead of a token's; NULL: the token's */
    bool no_withdrawal;           /* nobody can withdraw it; token and hash do not matter */
    uint32_t work_bits_max;       /* largest proof of work to do, see hearsay_work_ms */
};

#define HEARSAY_WORK_BITS 24 /* work_bits_max, unless told otherwise: some seconds on a laptop */

/* Defaults: all of it 0 or NULL, reach HEARSAY_DISTANCE_ONE, work_bits_max HEARSAY_WORK_BITS. */
HEARSAY_API void hearsay_deposit_init(struct hearsay_deposit *deposit);

/*
 * A server may ask for a proof of work on each deposit (limits.work_bits), so that flooding it
 * costs something. It is done when a deposit is submitted, before anything is sent and beyond any
 * timeout_ms, on the thread of the caller. This is about how long, in ms, on average: it may be
 * five times as long, or nothing. Takes a few ms itself; 0 where no proof is asked for. A deposit
 * with a smaller work_bits_max than is asked for is ERR_ARGUMENT.
 */
HEARSAY_API int64_t hearsay_work_ms(const struct hearsay *server);

/* What the depositor needs later: the id to find it, id and token to withdraw it. */
struct hearsay_receipt {
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES]; /* zeros unless has_token */
    bool has_token;                     /* false with withdraw_hash or no_withdrawal */
};

enum hearsay_metric {
    HEARSAY_METRIC_BITS = 1,     /* Jaccard distance of the filters */
    HEARSAY_METRIC_ESTIMATED = 2 /* by the estimated numbers of labels */
};

enum hearsay_order {
    HEARSAY_ORDER_SIMILARITY = 1, /* nearest first; then newer, then smaller id */
    HEARSAY_ORDER_TIME = 2        /* the same messages, newest first; then smaller id */
};

/* One filter that is looked for. */
struct hearsay_part {
    uint64_t epoch;                        /* 0: the open one */
    const struct hearsay_filter *filter;   /* required */
    const struct hearsay_filter *contains; /* NULL; else only messages that have all its bits */
};

/* A Bloom filter of message ids, as the protocol has it; hearsay_seen makes them. */
struct hearsay_slice {
    const uint8_t *bits;
    size_t byte_count; /* at least 1 */
    uint32_t hashes;   /* 1 .. 32 */
    uint64_t seed;
};

/* A question for the k nearest messages. Everything is borrowed for the call only. */
struct hearsay_query {
    const char *host;                 /* NULL: the default one */
    const struct hearsay_part *parts; /* part_count of them, at least 1 */
    size_t part_count;
    uint32_t k;            /* 1 .. limits.k_max */
    uint32_t max_distance; /* millionths of the bit distance, inclusive */
    int64_t since_ms;      /* deposited at or after; INT64_MIN: any */
    int64_t until_ms;      /* deposited before; INT64_MAX: any */
    enum hearsay_metric metric;
    enum hearsay_order order;
    bool with_payload;
    const struct hearsay_slice *exclude; /* exclude_count of them, at most 32: ids left out */
    size_t exclude_count;
};

/* Defaults: no parts, k 10, max_distance HEARSAY_DISTANCE_ONE, any time, bits, similarity, true. */
HEARSAY_API void hearsay_query_init(struct hearsay_query *query);

/* --- what is answered ------------------------------------------------------------------------- */

struct hearsay_deposited {
    int64_t deposited_ms;
    int64_t expires_ms;
    bool duplicate; /* the same message was there already */
    bool durable;   /* survives power loss; false: a crash of the program only */
    bool held;      /* nobody sees it until the operator has looked at it */
};

struct hearsay_result {
    uint8_t id[HEARSAY_ID_BYTES];
    uint64_t epoch;
    uint32_t intersection_count;   /* bits set in both filters */
    uint32_t union_count;          /* bits set in either */
    uint32_t distance;             /* millionths */
    uint32_t estimated_similarity; /* millionths */
    int64_t deposited_ms;
    int64_t expires_ms;
    const char *media_type; /* NULL without payload */
    const uint8_t *payload; /* NULL without payload, not NULL for an empty one */
    size_t payload_bytes;
    bool payload_omitted; /* it did not fit the frame: hearsay_get */
};

struct hearsay_results {
    const struct hearsay_result *results; /* result_count of them */
    size_t result_count;
    uint64_t comparisons; /* filters and summaries whose overlap was computed */
    bool exact;           /* proven to be the true answer */
    bool capped;          /* a cap on one sender's share left messages out */
};

struct hearsay_message {
    uint8_t id[HEARSAY_ID_BYTES];
    uint64_t epoch;
    int64_t deposited_ms;
    int64_t expires_ms;
    const char *media_type; /* never NULL */
    const uint8_t *payload; /* never NULL */
    size_t payload_bytes;
};

struct hearsay_pong {
    int64_t now_ms;
    bool clock_trusted;
};

/* What a host says is around it. */
struct hearsay_here {
    const char *const *labels; /* label_count of them, not NULL */
    size_t label_count;
};

/* A query that stands. */
struct hearsay_watching {
    uint64_t watch_id;
    uint64_t seq; /* of the newest message, as it began */
};

/* A message that fits one. seq grows from match to match, with gaps, and is kept with the store:
 * what comes after it can be asked for later. */
struct hearsay_match {
    uint64_t watch_id;
    uint64_t seq;
    struct hearsay_result result;
};

/* What the messages of a host have in common. */
struct hearsay_summary {
    struct hearsay_filter union_filter; /* bits set in any message's filter */
    uint32_t cardinality_min;           /* set bits of the emptiest; 0 when there are none */
    uint32_t cardinality_max;           /* of the fullest */
    uint64_t count;                     /* messages */
};

/* A stored message as the administrator sees it. */
struct hearsay_exported {
    struct hearsay_message message;
    const uint8_t *filter;
    size_t filter_bytes;
    uint32_t reach;               /* millionths */
    const uint8_t *withdraw_hash; /* HEARSAY_HASH_BYTES, or NULL */
};

struct hearsay_page {
    const struct hearsay_exported *messages; /* message_count of them */
    size_t message_count;
    const uint8_t *next; /* cursor of the next page; NULL: this was the last */
    size_t next_bytes;
};

/* --- administration: what is answered --- */

/*
 * A number that the server keeps: "messages", "host/NAME/messages". docs/operations/monitoring.md
 * has all of them.
 */
struct hearsay_figure {
    const char *name;
    int64_t value;
};

/* A message that was reported, or that waits for review. */
struct hearsay_reported {
    struct hearsay_message message; /* epoch is not set */
    uint32_t reports;               /* by different senders */
    bool hidden;                    /* nobody is shown it */
    bool pending;                   /* hidden, since nobody has looked at it yet */
    bool payload_omitted;           /* it did not fit the frame */
    const char *const *reasons;     /* reason_count of them: the readers' words */
    size_t reason_count;
};

struct hearsay_ban {
    const uint8_t *payload_hash; /* HEARSAY_HASH_BYTES, or NULL */
    const uint8_t *filter;       /* filter_bytes of them, or NULL */
    size_t filter_bytes;
    uint32_t max_distance; /* millionths: filters as near as this are refused */
    int64_t since_ms;
};

/* What hearsay_admin answers; which of it is set, depends on what was asked. */
struct hearsay_admin_reply {
    const struct hearsay_figure *figures; /* stats: figure_count of them */
    size_t figure_count;
    const struct hearsay_reported *reported; /* reported: reported_count of them */
    size_t reported_count;
    uint64_t total;                 /* reported: with those that did not fit */
    const struct hearsay_ban *bans; /* bans: ban_count of them */
    size_t ban_count;
    bool more;                   /* bans: ask again, and skip those that came */
    const char *word;            /* accept: the mode; log level: the level */
    const char *source;          /* accept: "operator", "schedule" or "configuration" */
    int64_t until_ms;            /* accept: by schedule; 0: not said */
    const char *const *problems; /* check: problem_count of them; none: all is well */
    size_t problem_count;
    uint64_t messages;     /* check: that were looked at */
    uint64_t bytes_before; /* compact */
    uint64_t bytes_after;  /* compact, backup */
};

enum hearsay_reply_kind {
    HEARSAY_REPLY_ERROR = 1, /* of one request; the connection goes on */
    HEARSAY_REPLY_DEPOSITED,
    HEARSAY_REPLY_RESULTS,
    HEARSAY_REPLY_MESSAGE,
    HEARSAY_REPLY_WITHDRAWN, /* nothing but the fact */
    HEARSAY_REPLY_PONG,
    HEARSAY_REPLY_PAGE,
    HEARSAY_REPLY_SUMMARY,
    HEARSAY_REPLY_HERE,
    HEARSAY_REPLY_REPORT_TAKEN, /* nothing but the fact */
    HEARSAY_REPLY_ADMIN,
    HEARSAY_REPLY_WATCHING,
    HEARSAY_REPLY_UNWATCHED, /* nothing but the fact */
    HEARSAY_REPLY_MATCH      /* of no request: its ticket is 0 */
};

struct hearsay_reply {
    uint64_t ticket; /* of the request */
    enum hearsay_reply_kind kind;
    union {
        struct hearsay_error error; /* status is HEARSAY_ERR_REFUSED */
        struct hearsay_deposited deposited;
        struct hearsay_results results;
        struct hearsay_message message;
        struct hearsay_pong pong;
        struct hearsay_page page;
        struct hearsay_summary summary;
        struct hearsay_here here;
        struct hearsay_admin_reply admin;
        struct hearsay_watching watching;
        struct hearsay_match match;
    };
};

/* --- one request at a time -------------------------------------------------------------------- */

/*
 * Each sends a request and waits for its reply; ERR_REFUSED when that is an error. What they return
 * by pointer is borrowed from the connection until the next call on it, hearsay_close included.
 * Replies to requests that were submitted before (below) are kept for hearsay_next meanwhile; where
 * those exceed 8 MiB, or too much is under way, these calls return HEARSAY_FULL.
 *
 * ERR_TIMEOUT leaves the connection usable; the reply is dropped when it comes. A deposit that ends
 * in ERR_TIMEOUT or ERR_LOST may or may not have happened: send it again with the same id and token
 * (from the receipt, which is filled in all cases but ERR_ARGUMENT and HEARSAY_FULL), and it is
 * stored once.
 *
 * All: ERR_ARGUMENT, ERR_NOMEM, ERR_TIMEOUT, ERR_LOST, ERR_PROTOCOL, ERR_REFUSED, ERR_SYSTEM.
 */
HEARSAY_API int hearsay_deposit(struct hearsay *server, const struct hearsay_deposit *deposit,
                                int timeout_ms, struct hearsay_receipt *out_receipt,
                                struct hearsay_deposited *out_deposited,
                                struct hearsay_error *out_error);
HEARSAY_API int hearsay_query(struct hearsay *server, const struct hearsay_query *query,
                              int timeout_ms, const struct hearsay_results **out_results,
                              struct hearsay_error *out_error);
/* id: HEARSAY_ID_BYTES. A message that is not there: ERR_REFUSED with HEARSAY_CODE_NOT_FOUND. */
HEARSAY_API int hearsay_get(struct hearsay *server, const char *host, const uint8_t *id,
                            int timeout_ms, const struct hearsay_message **out_message,
                            struct hearsay_error *out_error);
/* id: HEARSAY_ID_BYTES, token: HEARSAY_TOKEN_BYTES. A wrong token: HEARSAY_CODE_FORBIDDEN. */
HEARSAY_API int hearsay_withdraw(struct hearsay *server, const char *host, const uint8_t *id,
                                 const uint8_t *token, int timeout_ms,
                                 struct hearsay_error *out_error);
/* out_pong may be NULL. */
HEARSAY_API int hearsay_ping(struct hearsay *server, int timeout_ms, struct hearsay_pong *out_pong,
                             struct hearsay_error *out_error);
/* Right after every deposit and withdrawal; a message counts until up to 6 s after its expiry. */
HEARSAY_API int hearsay_summary(struct hearsay *server, const char *host, int timeout_ms,
                                struct hearsay_summary *out_summary,
                                struct hearsay_error *out_error);
/* The labels of what is around the access point now, *out_here borrowed. There may be none. */
HEARSAY_API int hearsay_here(struct hearsay *server, const char *host, int timeout_ms,
                             const struct hearsay_here **out_here, struct hearsay_error *out_error);
/*
 * A page of all messages of a host, over the administrator's Unix socket only. `after` is the
 * cursor of the page before, copied, NULL for the first page; limit: messages at most, 0: as many
 * as fit.
 */
HEARSAY_API int hearsay_export(struct hearsay *server, const char *host, const uint8_t *after,
                               size_t after_bytes, uint32_t limit, int timeout_ms,
                               const struct hearsay_page **out_page,
                               struct hearsay_error *out_error);

/*
 * Tells the operator that a message should not be there. After reports of several different senders
 * the message is hidden until the operator has looked at it. reason: a line of at most 200 bytes
 * for the operator, NULL for none.
 */
HEARSAY_API int hearsay_report(struct hearsay *server, const char *host, const uint8_t *id,
                               const char *reason, int timeout_ms, struct hearsay_error *out_error);

/* --- administration --------------------------------------------------------------------------- */

/* What an administrator may ask; over the daemon's Unix socket only, as its own user or root. */
enum hearsay_admin_kind {
    HEARSAY_ADMIN_STATS = 1, /* host: NULL means all */
    HEARSAY_ADMIN_REMOVE,    /* id; ban: refuse its payload from now on, too */
    HEARSAY_ADMIN_RESTORE,   /* id: show a message that is hidden or waits for review */
    HEARSAY_ADMIN_REPORTED,  /* number: messages at most, 0: as fit; pending: for review instead */
    HEARSAY_ADMIN_BAN,       /* payload_hash, or filter and max_distance */
    HEARSAY_ADMIN_UNBAN,     /* payload_hash, or filter */
    HEARSAY_ADMIN_BANS,      /* number: skip so many */
    HEARSAY_ADMIN_ACCEPT,    /* word: open, review, closed, auto; NULL: only tell */
    HEARSAY_ADMIN_CHECK,     /* whether index, counters and store agree */
    HEARSAY_ADMIN_BACKUP,    /* word: an absolute path on the server */
    HEARSAY_ADMIN_COMPACT,   /* give unused storage back */
    HEARSAY_ADMIN_RELOAD,    /* read the configuration again */
    HEARSAY_ADMIN_LOG_LEVEL  /* word: error, warning, info, debug; NULL: only tell */
};

/* One of these questions. Set it to zeros first. Everything is borrowed for the call only. */
struct hearsay_admin {
    enum hearsay_admin_kind kind;
    const char *host;            /* NULL: the default one */
    const uint8_t *id;           /* HEARSAY_ID_BYTES */
    const uint8_t *payload_hash; /* HEARSAY_HASH_BYTES: BLAKE2b-256 of a payload */
    const struct hearsay_filter *filter;
    uint32_t max_distance; /* millionths; 0: this very filter */
    uint32_t number;
    bool ban;
    bool pending;
    const char *word;
};

/*
 * Asks and waits, as the calls above. check, backup and compact take as long as the store is large:
 * give them time. Where we are no administrator: HEARSAY_CODE_FORBIDDEN.
 */
HEARSAY_API int hearsay_admin(struct hearsay *server, const struct hearsay_admin *admin,
                              int timeout_ms, const struct hearsay_admin_reply **out_reply,
                              struct hearsay_error *out_error);

/* BLAKE2b-256 of a payload, HEARSAY_HASH_BYTES, for bans. */
HEARSAY_API void hearsay_hash_payload(const void *payload, size_t payload_bytes, uint8_t *out_hash);

/* --- watching --------------------------------------------------------------------------------- */

/*
 * Lets a query stand on this connection: what fits it from now on, and what came after after_seq
 * (HEARSAY_NO_SEQ: nothing), is returned by hearsay_next as HEARSAY_REPLY_MATCH, in order, each
 * message once. k, until_ms, order and exclude are not used. After this hearsay_next waits also
 * while no request is under way. As for the requests above; too many watches: HEARSAY_CODE_QUOTA.
 */
HEARSAY_API int hearsay_watch_begin(struct hearsay *server, const struct hearsay_query *query,
                                    uint64_t after_seq, int timeout_ms,
                                    struct hearsay_watching *out_watching,
                                    struct hearsay_error *out_error);

/* Ends it. What had come before may still be returned. No such watch: HEARSAY_CODE_NOT_FOUND. */
HEARSAY_API int hearsay_watch_end(struct hearsay *server, uint64_t watch_id, int timeout_ms,
                                  struct hearsay_error *out_error);

/*
 * Connects as hearsay_connect, or, unless tls is NULL, as hearsay_connect_tls, and shows the resume
 * token of an earlier Welcome (copied): the new Welcome's `dropped` says why the server dropped
 * that connection, if it did.
 */
HEARSAY_API int hearsay_connect_resuming(const char *server, const struct hearsay_tls *tls,
                                         const char *agent, const uint8_t *token,
                                         size_t token_bytes, int timeout_ms,
                                         struct hearsay **out_server,
                                         struct hearsay_error *out_error);

/*
 * A watch that outlives its connection. All callbacks run within hearsay_watch, with `context`;
 * those that return bool end it by false. May be NULL: connect, dropped, lost, goes_on.
 */
struct hearsay_watch {
    const char *server; /* as for hearsay_connect_resuming, with the next three */
    const struct hearsay_tls *tls;
    const char *agent;
    int timeout_ms;
    uint64_t after_seq; /* HEARSAY_NO_SEQ: only what comes from now on */
    void *context;
    /* Connects, instead of hearsay_connect_resuming. A status; *out_server is taken. */
    int (*connect)(void *context, const uint8_t *token, size_t token_bytes,
                   struct hearsay **out_server, struct hearsay_error *error);
    /* Fills the query for a server just connected to, whose host may have another profile by now;
     * what it points to stays until the next call. HEARSAY_OK, or the end of hearsay_watch. */
    int (*prepare)(void *context, struct hearsay *server, struct hearsay_query *query,
                   struct hearsay_error *error);
    bool (*match)(void *context, const struct hearsay *server, const struct hearsay_match *match);
    /* The server had dropped the last connection, and says why. */
    void (*dropped)(void *context, const struct hearsay_error *why);
    /* The connection is lost; the next try is in retry_ms. */
    bool (*lost)(void *context, const struct hearsay_error *why, int retry_ms);
    bool (*goes_on)(void *context); /* asked some times a second */
};

/*
 * Connects, watches, and when the connection is lost connects again: after 1 s, then twice as long
 * each time, up to 60 s, less up to half of it by chance. Each message that fits is given to
 * `match` once, in order, nothing missed: also over restarts of the server. From a server with
 * another store all of it is given. When an epoch begins it connects anew at once, so that
 * `prepare` knows it. While nothing comes it pings, to notice when the server is gone.
 *
 * HEARSAY_OK when a callback ended it. What fails before the first success, and what trying again
 * does not mend (ERR_ARGUMENT, ERR_NOMEM, ERR_SYSTEM, ERR_PROTOCOL, most refusals), is returned.
 */
HEARSAY_API int hearsay_watch(const struct hearsay_watch *watch, struct hearsay_error *out_error);

/* --- many requests at a time ------------------------------------------------------------------ */

/*
 * Each takes a request and returns at once, with its ticket (not 0) in *out_ticket. It is sent at
 * once where nothing else is under way; else requests gather, and go out when 32 KiB are together
 * or with the next hearsay_next. That waits for both directions at a time, so a server that answers
 * slowly or reads slowly never leads to a deadlock.
 *
 * HEARSAY_FULL: as many requests are under way as the server takes (limits.requests_in_flight, at
 * most 1024), or more than 1 MiB waits to be sent. Nothing was submitted; call hearsay_next.
 * ERR_ARGUMENT, ERR_NOMEM, ERR_LOST, ERR_PROTOCOL.
 *
 * out_receipt may be NULL when id and token are the caller's.
 */
HEARSAY_API int hearsay_submit_deposit(struct hearsay *server,
                                       const struct hearsay_deposit *deposit,
                                       struct hearsay_receipt *out_receipt, uint64_t *out_ticket,
                                       struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_query(struct hearsay *server, const struct hearsay_query *query,
                                     uint64_t *out_ticket, struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_get(struct hearsay *server, const char *host, const uint8_t *id,
                                   uint64_t *out_ticket, struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_withdraw(struct hearsay *server, const char *host, const uint8_t *id,
                                        const uint8_t *token, uint64_t *out_ticket,
                                        struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_ping(struct hearsay *server, uint64_t *out_ticket,
                                    struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_summary(struct hearsay *server, const char *host,
                                       uint64_t *out_ticket, struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_here(struct hearsay *server, const char *host, uint64_t *out_ticket,
                                    struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_export(struct hearsay *server, const char *host,
                                      const uint8_t *after, size_t after_bytes, uint32_t limit,
                                      uint64_t *out_ticket, struct hearsay_error *out_error);

/*
 * The next reply to any submitted request, in the order of arrival, which need not be that of
 * submission. *out_reply is borrowed until the next call on this connection. A request that the
 * server refused is 0 with kind HEARSAY_REPLY_ERROR.
 *
 * HEARSAY_IDLE when nothing is under way (what the server told unasked was read, without waiting),
 * HEARSAY_PENDING when no reply came within timeout_ms.
 * ERR_LOST, ERR_PROTOCOL, ERR_NOMEM, ERR_SYSTEM; ERR_REFUSED when the server ended the connection
 * with a reason. Replies that had arrived before are returned before such an error.
 */
HEARSAY_API int hearsay_next(struct hearsay *server, int timeout_ms,
                             const struct hearsay_reply **out_reply,
                             struct hearsay_error *out_error);

/* Requests under way: submitted, and their replies not yet returned. */
HEARSAY_API size_t hearsay_in_flight(const struct hearsay *server);

/*
 * The socket, to be waited for together with others: for reading, and for writing too when
 * *out_wants_write (may be NULL). When it is ready, call hearsay_next with timeout_ms 0 until it
 * returns HEARSAY_PENDING or HEARSAY_IDLE; only then wait again. Stays the connection's.
 */
HEARSAY_API int hearsay_fd(const struct hearsay *server, bool *out_wants_write);

/* --- keys of epochs --------------------------------------------------------------------------- */

/*
 * The keys of the epochs that one was present for, in a file. A key is stored with the pin of the
 * server's TLS key (or the fact that there was no TLS), the store id and the host, and is used only
 * on connections that have the same. It is forgotten when its epoch is gone, and after 366 days.
 *
 * The file has up to 2,048 keys that came over TLS, and 2,048 others. At this limit the oldest key
 * of the server with the most keys goes; a server is a pin, or without TLS a store id.
 *
 * Of two programs that save the file at a time the later one wins; the key that the other learned
 * is given again as long as its epoch is the current one.
 */
struct hearsay_keyring;

/*
 * Reads the file, which need not be there yet. *out_keyring is owned: hearsay_keyring_close, which
 * does not save. ERR_FILE, ERR_SYSTEM, ERR_NOMEM.
 */
HEARSAY_API int hearsay_keyring_open(const char *path, struct hearsay_keyring **out_keyring,
                                     struct hearsay_error *out_error);
HEARSAY_API void hearsay_keyring_close(struct hearsay_keyring *keyring); /* NULL is fine */

/*
 * Takes the keys that the server gave: of the current epochs, and the newest 64 in all since the
 * connection was made, as far as they were read (hearsay_current_epoch). A key replaces another key
 * that was stored for the same epoch. *out_replaced (may be NULL): how many did; tell the user, for
 * a server does not change the key of an epoch: its store is a new one with the old id, or somebody
 * imitated it before, or does now. ERR_NOMEM. O(count) for each key.
 */
HEARSAY_API int hearsay_keyring_learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                                      size_t *out_replaced, struct hearsay_error *out_error);

/* Replaces the file (mode 0600), whole or not at all, where there is something new. ERR_SYSTEM,
 * ERR_NOMEM. */
HEARSAY_API int hearsay_keyring_save(struct hearsay_keyring *keyring,
                                     struct hearsay_error *out_error);

/*
 * The living epochs of a host whose keys were learned from this server, those learned last first,
 * at most `room`; returns how many. Call hearsay_keyring_learn first. O(count). Sets number, key,
 * has_key, kept_ms and is_certain:
 *
 * true   This connection gave the key, or an earlier one over TLS to a server with the same pin.
 * false  The key was stored without TLS, and not given on this connection. Anybody who imitated the
 *        server may have given it. Ask with it only in a query that asks in the open epoch, too,
 *        which tells a listener as much. Never deposit with it.
 */
HEARSAY_API size_t hearsay_keyring_living(const struct hearsay_keyring *keyring,
                                          const struct hearsay *server,
                                          const struct hearsay_host *host,
                                          struct hearsay_epoch *out_epochs, size_t room);

/* --- messages already seen -------------------------------------------------------------------- */

/*
 * A reader's memory of the messages it has seen, in a file: queries carry a scalable Bloom filter
 * of their ids, and the server leaves those out. Ids are forgotten when their messages expire. A
 * message that was not seen is left out with a small chance (0.001 unless told otherwise); as each
 * query's filter has a random seed of its own, the next query shows it. Use a file from one program
 * at a time: of two that save it, the later one wins, and the other's messages are shown again.
 */
struct hearsay_seen;

/*
 * Reads the file, which need not be there yet. Forgets what has expired by the local clock.
 * *out_seen is owned: hearsay_seen_close, which does not save. ERR_FILE, ERR_SYSTEM, ERR_NOMEM.
 */
HEARSAY_API int hearsay_seen_open(const char *path, struct hearsay_seen **out_seen,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_seen_close(struct hearsay_seen *seen); /* NULL is fine */

/* Messages in it. */
HEARSAY_API size_t hearsay_seen_count(const struct hearsay_seen *seen);

/*
 * Remembers a message (HEARSAY_ID_BYTES) for so long: its expires_ms less hearsay_now_ms. One that
 * is there already is fine. ERR_ARGUMENT when there are 1,048,576, ERR_NOMEM. O(count).
 */
HEARSAY_API int hearsay_seen_add(struct hearsay_seen *seen, const uint8_t *id, int64_t lifetime_ms,
                                 struct hearsay_error *out_error);

/* Replaces the file, whole or not at all. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_seen_save(const struct hearsay_seen *seen, struct hearsay_error *out_error);

/*
 * Lets a query, whose parts are there already, leave out what was seen; it borrows from `seen`
 * until the next call with that. miss: the chance of missing another message in millionths, 1 to
 * 500,000; 0: 1,000. ERR_ARGUMENT when there are more ids than the server's frames have room for:
 * 16,320 in 64 KiB. ERR_NOMEM. O(count).
 */
HEARSAY_API int hearsay_seen_exclude(struct hearsay_seen *seen, const struct hearsay *server,
                                     uint32_t miss, struct hearsay_query *query,
                                     struct hearsay_error *out_error);

/* --- where one has been ----------------------------------------------------------------------- */

/*
 * A memory of the contexts of the last rounds, in a file: a time-decaying Bloom filter, that blends
 * them into one filter to query with. What was there in a round stays in it for `rounds` rounds.
 */
struct hearsay_recent;

/*
 * Reads the file. profile: in text form, must be that of the file; NULL: whatever the file has.
 * rounds: 1 to 255; another number than the file's takes effect at once; 0: the file's. Where there
 * is no file, profile and rounds make an empty memory; without either it is ERR_FILE.
 * *out_recent is owned: hearsay_recent_close, which does not save. ERR_FILE, ERR_ARGUMENT,
 * ERR_SYSTEM, ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_open(const char *path, const char *profile, uint32_t rounds,
                                    struct hearsay_recent **out_recent,
                                    struct hearsay_error *out_error);
HEARSAY_API void hearsay_recent_close(struct hearsay_recent *recent); /* NULL is fine */

/* Borrowed until hearsay_recent_close. */
HEARSAY_API const char *hearsay_recent_profile(const struct hearsay_recent *recent);
HEARSAY_API uint32_t hearsay_recent_rounds(const struct hearsay_recent *recent);

/* A new round, with the context of now. ERR_ARGUMENT when the filter is not of the profile. */
HEARSAY_API int hearsay_recent_round(struct hearsay_recent *recent,
                                     const struct hearsay_filter *here,
                                     struct hearsay_error *out_error);

/*
 * The same with the labels of now, which stay in the file as they are for as many rounds, so that
 * they can be keyed later. *out_here (may be NULL): their filter, not keyed. ERR_ARGUMENT as
 * hearsay_encode_profile, and when the labels of all rounds are over 1 MiB; ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_round_labels(struct hearsay_recent *recent,
                                            const char *const *labels, size_t label_count,
                                            struct hearsay_filter *out_here,
                                            struct hearsay_error *out_error);

/* All bits of the last rounds. */
HEARSAY_API void hearsay_recent_filter(const struct hearsay_recent *recent,
                                       struct hearsay_filter *out_filter);

/*
 * The same keyed, to ask with in an epoch, or for a group's messages. Rounds that were told by
 * hearsay_recent_round, and older files, have no labels: they are not in it, and
 * no bit is set where none are known. keys NULL: hearsay_recent_filter. ERR_NOMEM. O(labels).
 */
HEARSAY_API int hearsay_recent_filter_keyed(const struct hearsay_recent *recent,
                                            const struct hearsay_keys *keys,
                                            struct hearsay_filter *out_filter,
                                            struct hearsay_error *out_error);

/* Replaces the file, whole or not at all. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_recent_save(const struct hearsay_recent *recent,
                                    struct hearsay_error *out_error);

/* --- withdrawing ------------------------------------------------------------------------------ */

/* The hash of a token (HEARSAY_TOKEN_BYTES) into out_hash (HEARSAY_HASH_BYTES): BLAKE2b-256. */
HEARSAY_API void hearsay_hash_token(const uint8_t *token, uint8_t *out_hash);

#ifdef __cplusplus
}
#endif

#endif
