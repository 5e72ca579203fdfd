/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the program's own figures for Prometheus, at /metrics of a listener for metrics. */
#ifndef CLIENT_WEB_ROUTE_METRICS_H
#define CLIENT_WEB_ROUTE_METRICS_H

#include "client/web/http.h"

struct router;

/*
 * Answers a request of a listener for metrics: 421 if the Host header does not name the listener,
 * because a page of others may have led its own name here (DNS rebinding); 404 for all but GET and
 * HEAD of /metrics. The figures are numbers of all clients together: no label has an address, a
 * context or an id.
 */
void metrics_answer(const struct router *router, struct http_exchange *exchange,
                    const struct http_request *request);

#endif
