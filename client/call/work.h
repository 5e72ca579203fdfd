/* SPDX-License-Identifier: Apache-2.0 */
/* work: computes the proof of work for a deposit or a report. A server may demand such a proof. */
#ifndef CLIENT_CALL_WORK_H
#define CLIENT_CALL_WORK_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Sets deposit->work so that the proof has `bits` leading zero bits. Takes 2^bits tries on average.
 * Set all other fields of the deposit before the call: the proof depends on them. `host` is the
 * name of the host that will store the deposit.
 */
void work_find(struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               uint32_t bits);

/*
 * Sets report->work, as work_find does for a deposit. The number of zero bits is
 * welcome->limits.work_bits.
 */
void work_find_report(struct msg_report *report, const char *host,
                      const struct hearsay_welcome *welcome);

#endif
