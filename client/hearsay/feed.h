/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed: what changes at a host, for copies of the host, and applying what changed elsewhere. The
 * daemon accepts these requests on the listeners of a bridge. docs/protocol.md, section "Copies",
 * describes them; hearsay/messages.h has the structs. Part of hearsay.h.
 */
#ifndef HEARSAY_FEED_H
#define HEARSAY_FEED_H

#include "base.h"
#include "connection.h"
#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEARSAY_CHANGES_MAX 256 /* changes of one request or answer */

/*
 * Submit a request, as hearsay_submit_query. The answers are replies of the kinds
 * HEARSAY_RESPONSE_CHANGED and HEARSAY_RESPONSE_APPLIED. Each change of an answer has `message`,
 * `gone` or `rule`, and only one of them.
 */
HEARSAY_API int hearsay_submit_changes(struct hearsay *server,
                                       const struct hearsay_changes *changes, uint64_t *out_ticket,
                                       struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_apply(struct hearsay *server, const struct hearsay_apply *apply,
                                     uint64_t *out_ticket, struct hearsay_error *out_error);

/* Asks for changes and waits for the answer, which is borrowed until the next call on the
 * connection. Returns HEARSAY_OK or an error of hearsay_query. */
HEARSAY_API int hearsay_changes(struct hearsay *server, const struct hearsay_changes *changes,
                                int timeout_ms, const struct hearsay_changed **out_changed,
                                struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
