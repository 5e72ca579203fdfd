/* SPDX-License-Identifier: Apache-2.0 */
/* work: finds the number that a server wants as a proof of work on a deposit or report. */
#ifndef CLIENT_CALL_WORK_H
#define CLIENT_CALL_WORK_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Fills deposit->work so that the proof has `bits` zero bits; 2^bits tries on average. The deposit
 * is as it will be sent. host: the name of the host that it goes to.
 */
void work_find(struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               uint32_t bits);

/* The same for a report, with as many bits as the Welcome of this session asks for. */
void work_find_report(struct msg_report *report, const char *host,
                      const struct hearsay_welcome *welcome);

#endif
