/* SPDX-License-Identifier: Apache-2.0 */
/* work: finds the number that a server wants as a proof of work on a deposit. */
#ifndef CLIENT_WORK_H
#define CLIENT_WORK_H

#include "client/hearsay.h"
#include "proto/msg.h"

/*
 * Fills deposit->work so that the proof has `bits` zero bits; 2^bits tries on average. The deposit
 * is as it will be sent. host: the name of the host that it goes to.
 */
void work_find(struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               uint32_t bits);

#endif
