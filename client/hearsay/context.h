/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: converts what a device senses to labels, and labels to a Bloom filter, which a group may
 * key; sealed messages of a group. Part of hearsay.h.
 */
#ifndef HEARSAY_CONTEXT_H
#define HEARSAY_CONTEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hearsay_host;

/* --- groups ----------------------------------------------------------------------------------- */

#define HEARSAY_SECRET_BYTES_MIN 8 /* of a group's secret */
#define HEARSAY_SECRET_BYTES_MAX 1024
#define HEARSAY_SEALED_TYPE      "application/vnd.hearsay.sealed"
#define HEARSAY_SEAL_BYTES       41 /* that sealing adds, besides the media type */

/*
 * A group: people who share a secret. If labels are keyed with a group (struct hearsay_keys), their
 * context is similar to contexts of the same group, and to other contexts by chance only. The
 * messages of a group are sealed, which means encrypted.
 */
struct hearsay_group;

/*
 * Makes a group from the bytes of a secret; a secret that people type is UTF-8. To make guessing
 * slow, the derivation of the key takes 64 MiB of memory and much CPU time. The caller frees
 * *out_group with hearsay_group_free, which wipes the keys. Returns HEARSAY_OK, ERR_ARGUMENT for a
 * secret that is too short or too long, ERR_NOMEM or ERR_SYSTEM.
 */
HEARSAY_API int hearsay_group_new(const void *secret, size_t secret_bytes,
                                  struct hearsay_group **out_group,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_group_free(struct hearsay_group *group); /* NULL is fine */

/*
 * A media type and a payload, sealed or opened. The caller owns the struct: hearsay_content_free
 * wipes and frees the payload and zeroes the struct.
 */
struct hearsay_content {
    char media_type[128];
    uint8_t *payload;
    size_t payload_bytes;
};
HEARSAY_API void hearsay_content_free(struct hearsay_content *content); /* a zeroed one is fine */

/* What to seal, or to open. */
struct hearsay_sealing {
    const uint8_t *
        id; /* HEARSAY_ID_BYTES bytes: the id of the message; the seal is valid only with this id */
    const char *media_type; /* sealing: NULL means text/plain; opening: that of the message */
    const void *payload;
    size_t payload_bytes;
    /*
     * Only for sealing. false: the nonce is random. true: the nonce is derived from group, id,
     * media type and payload, so that the same message is always sealed to the same bytes. This is
     * for programs that repeat a deposit and have not stored the sealed bytes.
     */
    bool is_repeatable;
};

/*
 * Seals a message. Deposit the message under the id of `message`, which hearsay_deposit_init draws,
 * with the media type and payload of *out_content. To repeat the deposit, use the same
 * *out_content, or seal with is_repeatable each time. Returns HEARSAY_OK; ERR_ARGUMENT for a media
 * type or payload that no server accepts; ERR_NOMEM.
 */
HEARSAY_API int hearsay_group_seal(const struct hearsay_group *group,
                                   const struct hearsay_sealing *message,
                                   struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

/*
 * Opens a sealed message. Returns HEARSAY_OK; ERR_NOMEM; or HEARSAY_NOT_OURS: the message is not
 * sealed, another group has sealed it, it was sealed under another id, it was changed, or its
 * content is not valid. The media type in *out_content is text/plain if the sealed media type is
 * empty, and application/octet-stream if the sealed media type is not valid.
 */
HEARSAY_API int hearsay_group_open(const struct hearsay_group *group,
                                   const struct hearsay_sealing *message,
                                   struct hearsay_content *out_content,
                                   struct hearsay_error *out_error);

/* --- filters ---------------------------------------------------------------------------------- */

/*
 * The Bloom filter of a context. Bit p is bit p % 8 of byte p / 8. The struct owns no memory and
 * may be copied.
 */
struct hearsay_filter {
    uint32_t bits;       /* m */
    uint32_t byte_count; /* ceil(m / 8) */
    uint8_t bytes[HEARSAY_FILTER_BYTES_MAX];
};

/* Makes a field of bytes, which borrows the filter. NULL makes an absent field. */
HEARSAY_API struct hearsay_bytes hearsay_filter_bytes(const struct hearsay_filter *filter);

/* What labels are keyed with; each may be NULL. Borrowed. */
struct hearsay_keys {
    const struct hearsay_group *group;
    const uint8_t *epoch_key; /* HEARSAY_KEY_BYTES */
};

/*
 * The labels to encode. Give all labels of a context in one call: some profiles also encode pairs
 * of labels, which the filters of two halves of a context do not have.
 */
struct hearsay_encode {
    const struct hearsay_host *host; /* its profile is used (hearsay_find_host), unless NULL; */
    const char *profile;             /* ... then this one, in text form */
    const struct hearsay_keys *keys; /* NULL: labels are not keyed */
    const char *const *labels;       /* attribute:value, at most 240 bytes each; may repeat */
    size_t label_count;              /* at least 1 */
    bool is_answer;                  /* labels do not count: an answer's filter has no bits */
};

/*
 * Encodes labels as a filter. Returns HEARSAY_OK; ERR_ARGUMENT for a wrong label (the sentence
 * names the label, and lists the sections of the profile if no section takes the label's
 * attribute), for no label, for a wrong `profile`, or if host and profile are NULL; ERR_PROTOCOL
 * when this library does not know the host's kind of profile.
 */
HEARSAY_API int hearsay_encode(const struct hearsay_encode *context,
                               struct hearsay_filter *out_filter, struct hearsay_error *out_error);

/* --- labels ----------------------------------------------------------------------------------- */

#define HEARSAY_CONTEXT_LABELS_MAX  4096              /* of one context */
#define HEARSAY_SCAN_BYTES_MAX      (4 * 1024 * 1024) /* of the text of one scan */
#define HEARSAY_SCAN_LINE_BYTES_MAX 4096              /* of one of its lines */
#define HEARSAY_SCAN_SIGHTINGS_MAX  1024              /* access points in it */
#define HEARSAY_SCAN_STRONGEST      32                /* of them at most that become labels */
#define HEARSAY_SCAN_LABELS_MAX     50                /* of these access points together */
#define HEARSAY_WIFI_DBM_MIN        (-127)
#define HEARSAY_WIFI_DBM_MAX        0 /* drivers that know no strength say 0: it is unknown */
#define HEARSAY_WIFI_NO_STRENGTH    1 /* instead of a strength in dBm: unknown */

/*
 * A set of labels. It converts what a device senses to labels by the rules of docs/contexts.md. All
 * clients must follow these rules; otherwise two contexts of the same place may differ.
 *
 * The calls hearsay_context_add_... return HEARSAY_OK, ERR_ARGUMENT or ERR_NOMEM. After an error
 * the set may contain some of the new labels: clear or free the set. A label that is already in the
 * set changes nothing. More than HEARSAY_CONTEXT_LABELS_MAX labels are ERR_ARGUMENT.
 */
struct hearsay_context;

/* An empty set, owned: hearsay_context_free. ERR_NOMEM. */
HEARSAY_API int hearsay_context_new(struct hearsay_context **out_context,
                                    struct hearsay_error *out_error);
HEARSAY_API void hearsay_context_free(struct hearsay_context *context); /* NULL is fine */

/* Removes all labels, so that another context can be built. */
HEARSAY_API void hearsay_context_clear(struct hearsay_context *context);

/*
 * Returns the labels in the order in which they were added, for hearsay_encode. The array is
 * borrowed until the next call that adds, clears or frees labels. Never NULL, even if *out_count is
 * 0.
 */
HEARSAY_API const char *const *hearsay_context_labels(const struct hearsay_context *context,
                                                      size_t *out_count);

/* A label as it is, byte for byte. */
HEARSAY_API int hearsay_context_add_label(struct hearsay_context *context, const char *label,
                                          struct hearsay_error *out_error);

/*
 * Adds an access point in range. `bssid` is six bytes in hexadecimal digits, in capitals or not,
 * separated by colons, by dashes or by nothing. Group addresses, 00:00:00:00:00:00 and
 * 02:00:00:00:00:00, which Android gives to apps that may not know the address, are ERR_ARGUMENT.
 * strength_dbm is HEARSAY_WIFI_DBM_MIN to HEARSAY_WIFI_DBM_MAX, or HEARSAY_WIFI_NO_STRENGTH. Adds
 * the labels wifi:BSSID, wifi:BSSID@2, ..., wifi:BSSID@L, where the level L is max(1, ceil((dBm +
 * 95) / 8)), or 1 without a strength. Example: -60 dBm gives L = 5.
 */
HEARSAY_API int hearsay_context_add_wifi(struct hearsay_context *context, const char *bssid,
                                         int strength_dbm, struct hearsay_error *out_error);

/*
 * Adds a position in WGS84 degrees: latitude -90 to 90, longitude -180 to 180. Adds geo:HASH with
 * the geohashes of 6 characters of the position's cell; of 7 characters of the four nearest cells,
 * which are the position's own and those on the sides of its nearer edges, so that two people on
 * both sides of an edge share labels; and of 8 characters of the position's cell. These are six
 * labels, or four if the nearer edge is a pole.
 */
HEARSAY_API int hearsay_context_add_position(struct hearsay_context *context, double latitude,
                                             double longitude, struct hearsay_error *out_error);

/*
 * Adds a moment in Unix milliseconds, of the years 0000 to 9999. Adds the hour in UTC, such as
 * time:2026-11-20T14, and the hour of the week in UTC, such as time:w5T14 (w1 is Monday).
 */
HEARSAY_API int hearsay_context_add_time(struct hearsay_context *context, int64_t unix_ms,
                                         struct hearsay_error *out_error);

/*
 * Adds a topic in UTF-8 as topic:TEXT. TEXT is the topic without characters that cannot be seen,
 * converted by NFKC, full case folding, and NFKC again, without "#" and blanks before it, with one
 * blank for all white space within it and with one kind of apostrophe (docs/protocol.md).
 * A library that was built without utf8proc refuses topics that are not ASCII. The locale has no
 * effect.
 */
HEARSAY_API int hearsay_context_add_topic(struct hearsay_context *context, const char *topic,
                                          struct hearsay_error *out_error);

/* An access point as a scan saw it. */
struct hearsay_sighting {
    const char *bssid; /* borrowed; as for hearsay_context_add_wifi */
    int strength_dbm;  /* or HEARSAY_WIFI_NO_STRENGTH */
};

/*
 * Adds the labels of the strongest access points of a scan: at most HEARSAY_SCAN_STRONGEST access
 * points, and only as long as their labels are at most HEARSAY_SCAN_LABELS_MAX together. The access
 * points are taken by strength, the strongest first. Of two with the same strength, the one with
 * the lower address is taken first. Access points without a strength are taken last. If a scan has
 * several sightings of one access point, the strongest one counts. Sightings with an address that
 * no access point can have are left out, and a strength outside of HEARSAY_WIFI_DBM_MIN to -1
 * counts as none, so that one odd access point does not cost the scan: hearsay_context_left_out
 * counts these. Text that is not six bytes, and more than HEARSAY_SCAN_SIGHTINGS_MAX sightings, are
 * ERR_ARGUMENT, and no label is added.
 */
HEARSAY_API int hearsay_context_add_sightings(struct hearsay_context *context,
                                              const struct hearsay_sighting *sightings,
                                              size_t count, struct hearsay_error *out_error);

/* What the scans of a context left out, since the context was made or cleared. */
struct hearsay_left_out {
    size_t weaker;      /* access points, because so many others are stronger */
    size_t no_address;  /* sightings, because no access point can have the address */
    size_t no_strength; /* strengths that cannot be; the sightings count without a strength */
    size_t unreadable;  /* access points that could not be read, lines that are of none included */
    size_t unreadable_line; /* the line of the first of these, from 1; 0: there is none */
    bool is_cut;            /* a scan ended within an access point */
};

HEARSAY_API void hearsay_context_left_out(const struct hearsay_context *context,
                                          struct hearsay_left_out *out_left_out);

/*
 * Adds the access points in the output of `iw dev DEVICE scan`, `nmcli -t -f BSSID,SIGNAL device
 * wifi list`, `wpa_cli scan_results`, `iwinfo DEVICE scan` or `iwlist DEVICE scan`, as
 * hearsay_context_add_sightings does. The first line that has one of these forms decides. Scans in
 * JSON, such as those of `termux-wifi-scaninfo`, are ERR_ARGUMENT: give their access points to
 * hearsay_context_add_sightings. `text` has byte_count bytes, at most HEARSAY_SCAN_BYTES_MAX.
 * Percentages are converted to dBm by the inverse of NetworkManager's formula. *out_sightings is
 * the number of sightings that could be read, those that are left out for another reason included;
 * out_sightings may be NULL. What cannot be read is counted by hearsay_context_left_out. If
 * something is there and nothing can be read, and if nmcli printed channels instead of strengths,
 * the result is ERR_ARGUMENT with a sentence that names the first line that cannot be read, and no
 * label is added.
 */
HEARSAY_API int hearsay_context_add_scan(struct hearsay_context *context, const char *text,
                                         size_t byte_count, size_t *out_sightings,
                                         struct hearsay_error *out_error);

/*
 * Adds the here labels of a host, for a client that is at its access point: the labels of
 * host->here, which the server sends only to such clients. Add them to the context of each deposit,
 * query and watch, so that people whose devices sense different things find one another's messages;
 * not to messages that come from elsewhere, such as those of an import. Labels for which the host's
 * profile has no section are left out.
 *
 * Call it when all other labels are in the context, because the labels of access points (wifi:)
 * give way to them: at most 18 are added, and only as long as the labels of their section, times
 * its hashes, are at most 3/5 of its bits. That is 108 labels in the section wifi=362/2, which set
 * 45 % of it. Access points are added in the order of host->here, the strongest ones first, each
 * with all its labels; the first one that does not fit, and those after it, are left out.
 *
 * On a connection that stays, the labels may change, and host->here does not: see
 * HEARSAY_REQUEST_HERE and HEARSAY_RESPONSE_HERE_CHANGED. To add their labels, give a copy of the
 * host whose `here` and here_count are those of the response.
 */
HEARSAY_API int hearsay_context_add_here(struct hearsay_context *context,
                                         const struct hearsay_host *host,
                                         struct hearsay_error *out_error);

/*
 * Returns the label that stands for all labels of the context, if they say one thing: the only
 * label, or the label without a strength if all are labels of one access point. NULL: the context
 * is empty, or says several things. A query of such a context should also demand the label
 * (`contains` of its parts), and have no max_distance unless the user asks for one: call this
 * function before hearsay_context_add_here, whose labels then only decide the order. The label is
 * borrowed until labels are cleared or freed.
 */
HEARSAY_API const char *hearsay_context_only_label(const struct hearsay_context *context);

#ifdef __cplusplus
}
#endif

#endif
