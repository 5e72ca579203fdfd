/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the handlers in the table of handler.c that other files define. */
#pragma once

#include "daemon/handler/ask.h"
#include "daemon/host/room.h"

void handler_deposit(struct ask *ask);
void handler_withdraw(struct ask *ask);
void handler_query(struct ask *ask);
void handler_serve(struct ask *ask);
void handler_answered(struct ask *ask);
void handler_get(struct ask *ask);
void handler_export(struct ask *ask);
void handler_here(struct ask *ask);
void handler_summary(struct ask *ask);
void handler_watch(struct ask *ask);
void handler_unwatch(struct ask *ask);
void handler_report(struct ask *ask);
void handler_remove(struct ask *ask);
void handler_restore(struct ask *ask);
void handler_hide(struct ask *ask);
void handler_decisions(struct ask *ask);
void handler_wait(struct ask *ask);
void handler_reported(struct ask *ask);
void handler_ban(struct ask *ask);
void handler_unban(struct ask *ask);
void handler_bans(struct ask *ask);
void handler_accept(struct ask *ask);
void handler_notice(struct ask *ask);
void handler_check(struct ask *ask);
void handler_backup(struct ask *ask);
void handler_compact(struct ask *ask);
void handler_stats(struct ask *ask);
void handler_reload(struct ask *ask);
void handler_log_level(struct ask *ask);

/*
 * Writes the names of the requests that the client may send to `out`, which has LIMIT_CAPABILITIES
 * elements, and returns their number.
 */
size_t handler_list_requests(const struct requester *client, struct hearsay_text *out);

/*
 * Returns the tokens that a request costs; 0: it is free. *out_action says from which bucket the
 * tokens are taken. O(bytes of its filters) if `query_fill_max` is above 50 %, else O(1).
 */
uint32_t handler_cost(struct service *service, const struct hearsay_request *request,
                      enum sender_action *out_action);

/*
 * Fills `out`, which has LIMIT_NOTICES elements, with the notices of a host that are shown at a
 * place: those of all places, and those of the place of this name, which may be empty. `place`
 * NULL: with all notices. Returns their number. Their texts are borrowed from `rules`.
 */
size_t handler_fill_notices(const struct rules *rules, const struct hearsay_text *place,
                            struct hearsay_house_notice *out);

/*
 * Whether a message, which has a filter or is an answer, was left at the place of these labels, by
 * the rule by which handler_lacks_here finds that a deposit lacks them; of an answer, whether its
 * message was. False also where that message is hidden, and for an epoch that is over.
 */
bool handler_is_left_at(const struct host *host, const struct persist_message *message,
                        const struct hearsay_text *labels, size_t count);

/* Says that here_map has no place of the name that a request has. */
extern const char handler_no_place_text[];

/*
 * Whether the filter of a deposit, which has been checked, lacks bits of the here labels of its
 * client. The answer is false for an epoch with a key, where the daemon would have to key the
 * labels first.
 */
bool handler_lacks_here(const struct ask *ask);

/*
 * Adds here labels for the client's address to the hosts of Welcome. `hosts` has
 * service->host_count elements, in the order of service->hosts. A host gets no labels if they do
 * not fit the rest of the frame, or if memory is short. The labels are borrowed from service->arena
 * and service->hosts.
 */
void handler_here_welcome(struct service *service, const struct requester *client,
                          struct hearsay_host_info *hosts);

/* --- admission -------------------------------------------------------------------------------- */

/*
 * Checks a deposit before the store gets it; the store may still refuse the deposit.
 * admission_decide checks in this order:
 *
 *   1. form    epoch, filter, fill, payload size, time to live
 *   2. known   if the host has a message of this id that has not expired, checks 3 to 6 are
 *              skipped
 *   3. parent  the message that an answer answers can be read, and has not too many answers
 *   4. mode    the accept mode is `open` or `review` (accept_mode)
 *   5. ban     no ban of the operator applies to the payload or the filter
 *   6. room    caps and the sender's share allow the message, or others can be removed (room.h)
 *
 * The rate limits of the sender have been checked before.
 */

struct admission {
    int64_t now_ms; /* the host's clock when admission_decide ran */
    /* the host has a message of this id that has not expired; `room` is empty then */
    bool is_known;
    /* the first state of the message: SHOWN, or PENDING for review */
    enum persist_state state;
    /* the messages that the store removes for the new message; they are promised (room.h) */
    struct room room;
};

/* Says that the message that a deposit or a query names in `answers` cannot be read. */
extern const char handler_no_parent_text[];

/* Bytes of a deposit that count against the caps. */
size_t admission_content_bytes(const struct hearsay_deposit *deposit);

/*
 * Decides whether the deposit is accepted. Returns false after an error was sent. After true, and
 * unless `is_known` is set, the messages in out_admission->room are promised (room.h): they count
 * as removed. The caller ends the promise with room_unpromise.
 */
bool admission_decide(const struct ask *ask, struct admission *out_admission);

/* --- review_order ----------------------------------------------------------------------------- */

/*
 * In which order an operator's list has the messages that need a decision, and the
 * cursor of its next page.
 *
 *   1. Messages that were reported as ILLEGAL or ABOUT_ME come first, because they cannot wait.
 *   2. Then the messages of each sender take turns, so that whoever has left many reported ones
 *      has one place before the next sender has its first one, too.
 *   3. Messages that enough senders have reported, and that only a bound keeps shown.
 *   4. Most senders, as far as their reports count.
 *   5. The newest first; of those that wait for review the oldest first, as in a queue.
 *
 * The turns say nothing about senders to whoever reads the list: it is an order, and has no mark.
 */

enum { REVIEW_CURSOR_BYTES = 32 };

/* A message in its place of the list. */
struct review_place {
    struct moderated moderated; /* a copy */
    uint16_t turn;              /* how many of its sender come before it; at most UINT16_MAX */
};

/*
 * Writes the first `most` messages that a request asks for to `places`, behind those of its cursor
 * if it has one. Sets *out_total to how many messages the whole list has. Returns how many were
 * written, -ERR_NOMEM, or REVIEW_NO_CURSOR if the cursor is none of such a list. O(n log n) of the
 * entries.
 */
enum { REVIEW_NO_CURSOR = -1000 };
int review_choose(const struct moderation *moderation, const struct hearsay_reported *asked,
                  int64_t now_ms, size_t most, struct review_place *places, uint64_t *out_total);

/* Writes the cursor of the page behind a place. */
void review_write_cursor(const struct review_place *place, uint8_t out_cursor[REVIEW_CURSOR_BYTES]);
