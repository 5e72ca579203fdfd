/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route: which request is answered by what. Checks the name that was asked for, the origin and the
 * token of each form, and how often a phone reads. On the loop's thread.
 */
#pragma once

#include "client/web/http.h"

/* Answers a request, now or later; `context` is a struct router. For http_options. */
void route_request(void *context, struct http_exchange *exchange,
                   const struct http_request *request);

/* The client of a request has gone. For http_options. */
void route_gone(void *context, struct http_exchange *exchange);

/* Whether one more stream may begin now. For struct ticks. */
bool route_takes_stream(const void *context);
