/* SPDX-License-Identifier: Apache-2.0 */
/* work: computes the proof of work that a server asks for on a deposit or report. */
#ifndef CLIENT_CALL_WORK_H
#define CLIENT_CALL_WORK_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Sets deposit->work so that the proof has `bits` zero bits. Takes 2^bits tries on average. All
 * other fields of the deposit must be final. host: the name of the host that will store the
 * deposit.
 */
void work_find(struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               uint32_t bits);

/* The same for a report, with as many bits as this Welcome asks for. */
void work_find_report(struct msg_report *report, const char *host,
                      const struct hearsay_welcome *welcome);

#endif
