/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: files that a reader keeps: keys of epochs, ids of messages seen, recent contexts. Each
 * file is replaced atomically. Part of hearsay.h.
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
 * A file with the keys of epochs that servers gave to this reader on site. A key is stored with the
 * pin of the server's TLS key (or a mark for "no TLS"), the store id and the host. The key is used
 * only on connections with the same pin, store id and host. A key expires when the server destroys
 * its epoch, and after 366 days at the latest.
 *
 * The file holds up to 2,048 keys that were received over TLS, and up to 2,048 other keys. Above
 * one of these limits, the oldest key of the server with the most keys is deleted. For this rule,
 * servers are told apart by their pin, or by their store id without TLS.
 *
 * If two programs save the file, the file has the keys of the program that saved last.
 */
struct hearsay_keyring;

/*
 * Reads the file, and removes the keys that have expired by the local clock. An absent file counts
 * as empty. The caller frees *out_keyring with hearsay_keyring_close, which does not save the file.
 * Returns HEARSAY_OK, ERR_FILE, ERR_SYSTEM or ERR_NOMEM.
 */
HEARSAY_API int hearsay_keyring_open(const char *path, struct hearsay_keyring **out_keyring,
                                     struct hearsay_error *out_error);
HEARSAY_API void hearsay_keyring_close(struct hearsay_keyring *keyring); /* NULL is fine */

/*
 * Adds the keys that this connection received to the keyring: the keys of the current epochs, and
 * the newest 64 keys that came on the connection. Call hearsay_current_epoch before, which reads
 * what has arrived. A key replaces another key of the same epoch. *out_replaced is the number of
 * replaced keys; out_replaced may be NULL. Warn the user if this number is not 0: a server never
 * changes the key of an epoch. Either the server has a new store with the old store id, or another
 * machine imitates the server, or did so earlier. Returns HEARSAY_OK or ERR_NOMEM.
 */
HEARSAY_API int hearsay_keyring_learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                                      size_t *out_replaced, struct hearsay_error *out_error);

/*
 * Replaces the file (mode 0600) if a key was added or removed since the file was read or saved.
 * Returns HEARSAY_OK, ERR_SYSTEM or ERR_NOMEM.
 */
HEARSAY_API int hearsay_keyring_save(struct hearsay_keyring *keyring,
                                     struct hearsay_error *out_error);

/*
 * Finds the keys in the keyring that were stored for the pin (or "no TLS"), the store id and the
 * host of this connection, and whose epochs the server still keeps. Writes at most `room` epochs to
 * out_epochs, the newest key first, and returns their number. Call hearsay_keyring_learn first.
 * Sets the fields number, key, has_key, kept_ms and is_certain; the other fields are 0. The values
 * of is_certain:
 *
 *   true   This connection gave the key, or an earlier connection over TLS to a server with the
 *          same pin gave the key.
 *   false  The key was stored without TLS, and this connection did not give the key. Another
 *          machine that imitated the server may have given it.
 *
 * Use a key that is not certain only in a query that also has a part for the open epoch. Never
 * deposit with a key that is not certain. docs/privacy.md has the reasons.
 */
HEARSAY_API size_t hearsay_keyring_living(const struct hearsay_keyring *keyring,
                                          const struct hearsay *server,
                                          const struct hearsay_host *host,
                                          struct hearsay_epoch *out_epochs, size_t room);

/* --- messages seen ---------------------------------------------------------------------------- */

/*
 * A file with the ids of the messages that a reader has seen. A query carries a scalable Bloom
 * filter of these ids, and the server leaves these messages out. An id expires with its message.
 *
 * A false positive of the filter hides a message that the reader has not seen. The default
 * probability of a false positive is 0.001 for each message. Each call of hearsay_seen_exclude uses
 * a new random seed for the filter, so the next query very probably shows the message.
 *
 * Use a file from one program at a time. If two programs save the file, the last one wins, and the
 * messages that only the other program has seen are shown again.
 */
struct hearsay_seen;

/*
 * Reads the file, and removes the ids that have expired by the local clock. An absent file counts
 * as empty. The caller owns *out_seen and frees it with hearsay_seen_close, which does not save the
 * file. Returns HEARSAY_OK, ERR_FILE, ERR_SYSTEM or ERR_NOMEM.
 */
HEARSAY_API int hearsay_seen_open(const char *path, struct hearsay_seen **out_seen,
                                  struct hearsay_error *out_error);
HEARSAY_API void hearsay_seen_close(struct hearsay_seen *seen); /* NULL is fine */

/* Number of ids. */
HEARSAY_API size_t hearsay_seen_count(const struct hearsay_seen *seen);

/*
 * Adds an id of HEARSAY_ID_BYTES bytes. lifetime_ms is the time until the message expires: its
 * expires_ms minus hearsay_now_ms. With a lifetime of 0 or less, or if the id is already there,
 * nothing changes. Returns HEARSAY_OK, ERR_ARGUMENT when there are already 1,048,576 ids, or
 * ERR_NOMEM. O(number of ids).
 */
HEARSAY_API int hearsay_seen_add(struct hearsay_seen *seen, const uint8_t *id, int64_t lifetime_ms,
                                 struct hearsay_error *out_error);

/* Replaces the file. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_seen_save(const struct hearsay_seen *seen, struct hearsay_error *out_error);

/*
 * Sets the fields `exclude` and `exclude_count` of a query. Set the parts of the query before.
 * `exclude` points to memory of `seen`, which stays valid until the next hearsay_seen_exclude or
 * hearsay_seen_close. `miss` is the probability of a false positive in millionths, 1 to 500,000; 0
 * means 1,000. Returns HEARSAY_OK; ERR_ARGUMENT when `miss` is too large or the filter does not fit
 * in a frame of the server (with one part, `miss` 0 and frames of 64 KiB, 16,320 ids fit);
 * ERR_NOMEM. O(number of ids).
 */
HEARSAY_API int hearsay_seen_exclude(struct hearsay_seen *seen, const struct hearsay *server,
                                     uint32_t miss, struct hearsay_query *query,
                                     struct hearsay_error *out_error);

/* --- recent contexts -------------------------------------------------------------------------- */

/*
 * A file with the labels of the contexts of the last rounds. Each call of hearsay_recent_round
 * starts a round; a program may, for example, start one every ten minutes. A context stays for
 * `rounds` rounds (see hearsay_recent_open).
 */
struct hearsay_recent;

/*
 * Reads the file. `profile` is in text form and must be the profile of the file; NULL accepts any.
 * `rounds` is 1 to 255 and replaces the number in the file; 0 keeps the number in the file. If the
 * file does not exist, the memory is empty, and has `profile` and `rounds`; ERR_FILE when `profile`
 * is NULL or `rounds` is 0. The caller frees *out_recent with hearsay_recent_close, which does not
 * save the file. Returns HEARSAY_OK, ERR_FILE, ERR_ARGUMENT, ERR_SYSTEM or ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_open(const char *path, const char *profile, uint32_t rounds,
                                    struct hearsay_recent **out_recent,
                                    struct hearsay_error *out_error);
HEARSAY_API void hearsay_recent_close(struct hearsay_recent *recent); /* NULL is fine */

HEARSAY_API const char *hearsay_recent_profile(const struct hearsay_recent *recent); /* borrowed */
HEARSAY_API uint32_t hearsay_recent_rounds(const struct hearsay_recent *recent);

/*
 * Starts a new round with the labels of the current context. *out_here is the filter of these
 * labels, not keyed; out_here may be NULL. Returns HEARSAY_OK; ERR_ARGUMENT when hearsay_encode
 * refuses the labels, when they are more than HEARSAY_CONTEXT_LABELS_MAX, or when the contexts of
 * all rounds take more than 1 MiB; ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_round(struct hearsay_recent *recent, const char *const *labels,
                                     size_t label_count, struct hearsay_filter *out_here,
                                     struct hearsay_error *out_error);

/*
 * Adds the contexts of the last rounds, keyed with `keys`, to a filter of the profile, or to one of
 * zeros; keys NULL means not keyed. Adds the newest contexts first, as long as each section of the
 * filter is at most half full, as servers take it; the newest one in any case if the filter had no
 * bits. Returns HEARSAY_OK; ERR_ARGUMENT when hearsay_encode refuses labels of the file; ERR_NOMEM.
 */
HEARSAY_API int hearsay_recent_add(const struct hearsay_recent *recent,
                                   const struct hearsay_keys *keys, struct hearsay_filter *filter,
                                   struct hearsay_error *out_error);

/* Replaces the file. ERR_SYSTEM, ERR_NOMEM. */
HEARSAY_API int hearsay_recent_save(const struct hearsay_recent *recent,
                                    struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
