/* SPDX-License-Identifier: Apache-2.0 */
/* writing: the forms. Each function answers the visit, now or later; its form has been read. */
#ifndef CLIENT_WEB_ROUTE_WRITING_H
#define CLIENT_WEB_ROUTE_WRITING_H

#include "client/web/route/visit.h"

/*
 * Reads the body of a form, and checks where it comes from: Content-Type, Origin, and the token f.
 * False: something is wrong, and the visit was answered; with the text kept. A form to leave a
 * message may be accepted with visit->is_stale: writing_leave refuses it when it knows why.
 */
bool writing_accept(struct visit *visit);

void writing_leave(struct visit *visit);    /* POST /leave */
void writing_withdraw(struct visit *visit); /* POST /withdraw */
void writing_report(struct visit *visit);   /* POST /report */
void writing_stay(struct visit *visit);     /* POST /stay */

#endif
