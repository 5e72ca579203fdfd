/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: what a reader keeps in files: keys of epochs, ids of messages seen, recent contexts.
 * Part of hearsay.h. A file is replaced as a whole, or not at all.
 */
#ifndef HEARSAY_MEMORY_H
#define HEARSAY_MEMORY_H

#include "base.h"
#include "connection.h"
#include "context.h"
#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- keys of epochs --------------------------------------------------------------------------- */

/*
 * The keys of epochs that servers gave to this reader on site. A key is stored with the pin of the
 * server's TLS key (or a mark: no TLS), the store id and the host. It is used only on connections
 * where all three are the same. A key is deleted when the server deletes its epoch, and after 366
 * days.
 *
 * The file holds up to 2,048 keys that came over TLS, and 2,048 others. When one of these limits is
 * reached, the oldest key of the server with the most keys is deleted. Here a server is a pin;
 * without TLS, a store id.
 *
 * When two programs save the file, the later one wins. The key that the other one learned is given
 * again while its epoch is the current one.
 */
struct hearsay_keyring;

/*
 * Reads the file; an absent one counts as empty. *out_keyring is owned: hearsay_keyring_close,
 * which does not save. ERR_FILE, ERR_SYSTEM, ERR_NOMEM.
 */
HEARSAY_API int hearsay_keyring_open(const char *path, struct hearsay_keyring **out_keyring,
                                     struct hearsay_error *out_error);
HEARSAY_API void hearsay_keyring_close(struct hearsay_keyring *keyring); /* NULL is fine */

/*
 * Stores the keys that this connection was given: those of the current epochs, and the newest 64
 * since the greeting (hearsay_current_epoch reads them). A key replaces another key of the same
 * epoch; *out_replaced (may be NULL) counts these. Warn the user when it is not 0: a server never
 * changes the key of an epoch. Either its store is new and has the old id, or somebody imitates the
 * server, now or earlier. ERR_NOMEM. O(keys in the file) for each key.
 */
HEARSAY_API int hearsay_keyring_learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                                      size_t *out_replaced, struct hearsay_error *out_error);

/* Replaces the file (mode 0600) if a key was added or deleted. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_keyring_save(struct hearsay_keyring *keyring,
                                     struct hearsay_error *out_error);

/*
 * The epochs of a host that the server still keeps and whose keys came from this server, the newest
 * key first. Writes at most `room` of them to out_epochs and returns how many. Call
 * hearsay_keyring_learn first. O(keys in the file). Sets number, key, has_key, kept_ms and
 * is_certain:
 *
 * true   This connection gave the key, or an earlier one over TLS to a server with the same pin.
 * false  The key was stored without TLS, and this connection did not give it. Somebody who imitated
 *        the server may have given it. Use it only in a query that also searches the open epoch:
 *        such a query tells a listener no more. Never deposit with it.
 */
HEARSAY_API size_t hearsay_keyring_living(const struct hearsay_keyring *keyring,
                                          const struct hearsay *server,
                                          const struct hearsay_host *host,
                                          struct hearsay_epoch *out_epochs, size_t room);

/* --- messages seen ---------------------------------------------------------------------------- */

/*
 * The ids of the messages that a reader has seen. A query carries a scalable Bloom filter of these
 * ids, and the server leaves the messages out. An id is deleted when its message expires.
 *
 * A false positive of the filter hides a message that was not seen; its probability is 0.001 unless
 * told otherwise. Each query's filter has a new random seed, so the next query shows the message.
 *
 * Use a file from one program at a time: when two save it, the later one wins, and the messages
 * that the other has seen are shown again.
 */
struct hearsay_seen;

/*
 * Reads the file; an absent one counts as empty. Deletes ids whose messages have expired by the
 * local clock. *out_seen is owned: hearsay_seen_close, which does not save. ERR_FILE, ERR_SYSTEM,
 * ERR_NOMEM.
 */
HEARSAY_API int hearsay_seen_open(const char *path, struct hearsay_seen **out_seen,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_seen_close(struct hearsay_seen *seen); /* NULL is fine */

/* Number of ids. */
HEARSAY_API size_t hearsay_seen_count(const struct hearsay_seen *seen);

/*
 * Adds an id (HEARSAY_ID_BYTES) for lifetime_ms: the message's expires_ms less hearsay_now_ms. An
 * id that is there already changes nothing. ERR_ARGUMENT when there are 1,048,576; ERR_NOMEM.
 * O(count).
 */
HEARSAY_API int hearsay_seen_add(struct hearsay_seen *seen, const uint8_t *id, int64_t lifetime_ms,
                                 struct hearsay_error *out_error);

/* Replaces the file. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_seen_save(const struct hearsay_seen *seen, struct hearsay_error *out_error);

/*
 * Sets `exclude` of a query whose parts are set already. The query borrows from `seen` until the
 * next call with that. miss: the probability of a false positive in millionths, 1 to 500,000; 0:
 * 1,000. ERR_ARGUMENT when the filter does not fit into a frame of the server: 16,320 ids fit into
 * 64 KiB. ERR_NOMEM. O(count).
 */
HEARSAY_API int hearsay_seen_exclude(struct hearsay_seen *seen, const struct hearsay *server,
                                     uint32_t miss, struct hearsay_query *query,
                                     struct hearsay_error *out_error);

/* --- recent contexts -------------------------------------------------------------------------- */

/*
 * The contexts of the last rounds, as labels. A round is one call of hearsay_recent_round, for
 * example every ten minutes. A time-decaying Bloom filter blends the contexts into one filter for
 * queries: a context stays in it for `rounds` rounds.
 */
struct hearsay_recent;

/*
 * Reads the file. profile: in text form, must be that of the file; NULL: the file's. rounds: 1 to
 * 255; another number than the file's replaces it; 0: the file's. Where there is no file, profile
 * and rounds make an empty memory; ERR_FILE when one of the two is missing. *out_recent is owned:
 * hearsay_recent_close, which does not save. ERR_FILE, ERR_ARGUMENT, ERR_SYSTEM, ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_open(const char *path, const char *profile, uint32_t rounds,
                                    struct hearsay_recent **out_recent,
                                    struct hearsay_error *out_error);
HEARSAY_API void hearsay_recent_close(struct hearsay_recent *recent); /* NULL is fine */

HEARSAY_API const char *hearsay_recent_profile(const struct hearsay_recent *recent); /* borrowed */
HEARSAY_API uint32_t hearsay_recent_rounds(const struct hearsay_recent *recent);

/*
 * Starts a new round with the labels of now. *out_here (may be NULL): their filter, not keyed.
 * ERR_ARGUMENT as hearsay_encode, and when the labels of all rounds have over 1 MiB; ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_round(struct hearsay_recent *recent, const char *const *labels,
                                     size_t label_count, struct hearsay_filter *out_here,
                                     struct hearsay_error *out_error);

/*
 * The filter of all contexts of the last rounds, keyed for an epoch or a group (keys NULL: not
 * keyed). It has no bit set where there are no contexts. ERR_NOMEM. O(labels).
 */
HEARSAY_API int hearsay_recent_filter(const struct hearsay_recent *recent,
                                      const struct hearsay_keys *keys,
                                      struct hearsay_filter *out_filter,
                                      struct hearsay_error *out_error);

/* Replaces the file. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_recent_save(const struct hearsay_recent *recent,
                                    struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
