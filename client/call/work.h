/* SPDX-License-Identifier: Apache-2.0 */
/* work: computes the proof of work for a deposit or a report. A server may demand such a proof. */
#ifndef CLIENT_CALL_WORK_H
#define CLIENT_CALL_WORK_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Sets deposit->work so that the proof begins with at least `bits` zero bits. Takes 2^bits tries on
 * average. Set the other fields of the deposit before the call: the proof covers all of them except
 * ttl_s. `host` is the name of the host that will store the deposit.
 */
void work_find(struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               uint32_t bits);

/*
 * Sets report->work so that the proof begins with at least welcome->limits.work_bits zero bits. Set
 * report->id before the call. `host` is the name of the message's host.
 */
void work_find_report(struct msg_report *report, const char *host,
                      const struct hearsay_welcome *welcome);

#endif
