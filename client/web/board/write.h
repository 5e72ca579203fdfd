/* SPDX-License-Identifier: Apache-2.0 */
/* write: converts what a phone writes to a request to hearsayd, and the answer or refusal of
 * hearsayd to an outcome for the page. */
#ifndef CLIENT_WEB_BOARD_WRITE_H
#define CLIENT_WEB_BOARD_WRITE_H

#include "client/web/board.h"

/* Sends the request. The status of hearsay_submit_*. */
int write_submit(const struct board_write *write, struct hearsay *server, uint64_t *out_ticket,
                 struct hearsay_error *out_error);

/* What a refusal means: as answer_outcome, with the reasons of withdrawals and of closed hosts. */
enum board_outcome write_outcome(enum board_write_kind kind, const struct hearsay_error *error);

#endif
