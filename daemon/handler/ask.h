/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask: a request while its handler runs: the request, its client, the service and the host. Also
 * the checks that several requests share. A check that fails sends an error to the client and
 * returns false or NULL.
 *
 * An ask lives until its handler returns. A handler that answers later makes a job (job.h).
 */
#pragma once

#include "daemon/host/requester.h"
#include "daemon/host/service.h"
#include "proto/msg.h"

struct ask {
    struct service *service;
    struct requester *client;
    const struct hearsay_request *request;
    /* the host that the request names; NULL before ask_host has found the host */
    struct host *host;
};

/*
 * ask_respond sends a response to the client. ask_refuse sends an error with a sentence; `field` is
 * the name of the field that is wrong, or NULL.
 */
void ask_respond(const struct ask *ask, const struct hearsay_response *response);
void ask_refuse(const struct ask *ask, enum hearsay_code code, const char *field,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
void ask_refuse_memory(const struct ask *ask); /* "the server is out of memory" */

/*
 * Finds the host of this name, or the first host if name->text is NULL, and stores it in ask->host.
 */
bool ask_host(struct ask *ask, const struct hearsay_text *name);

/* Whether this server is the owner of ask->host: the host is no copy. */
bool ask_owns(const struct ask *ask);

/* What a request says of the decision that it is about; members may be absent. */
struct ask_decision {
    struct hearsay_bytes id;
    enum hearsay_report_kind kind;
    struct hearsay_text reason;
};

/*
 * Makes the decision of an administrator's request about the host ask->host, for persist_op. `act`
 * is a word of at most LIMIT_WORD_BYTES.
 */
void ask_decide(const struct ask *ask, const char *act, const struct ask_decision *asked,
                struct persist_decision *out);

/*
 * Finds the epoch of the host ask->host by its number. If the host has no such epoch, or the epoch
 * is over, sends an error that names `field` and returns NULL.
 */
struct epoch *ask_epoch(const struct ask *ask, uint64_t number, const char *field);

/*
 * Whether the bytes have the form of a filter of the host's profile. If so, writes the words of the
 * filter to out_words.
 */
bool ask_filter(const struct ask *ask, const struct hearsay_bytes *bytes, const char *field,
                uint64_t *out_words);
/* As ask_filter, but sends no error: *out_error gets it. */
bool ask_judge_filter(const struct ask *ask, const struct hearsay_bytes *bytes, const char *field,
                      uint64_t *out_words, struct msg_error *out_error);

/*
 * Whether the share of set bits of a filter is within two bounds, both inclusive, in millionths.
 * The lower bound is for the whole filter, because one label fills one section and leaves the
 * others empty. The upper bound is for each section by itself, because a full section seems to
 * contain all of its labels, however empty the others are; a section with no more bits set than one
 * label sets is never too full. O(words).
 */
bool ask_fill(const struct ask *ask, const uint64_t *filter, const char *field,
              uint32_t minimum_ppm, uint32_t maximum_ppm);

/*
 * Whether a section of a filter has more than half of its bits set, by the rule of ask_fill: then
 * the tree cannot bound phi, and a search compares all messages. false: the bytes are no filter of
 * the host's profile. O(bytes).
 */
enum { ASK_FULL_PPM = 500000 };
bool ask_is_full(const struct host *host, const struct hearsay_bytes *bytes);
