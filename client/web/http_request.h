/* SPDX-License-Identifier: Apache-2.0 */
/* http_request: what MHD calls while a request comes in. Includes no header of MHD. */
#ifndef CLIENT_WEB_HTTP_REQUEST_H
#define CLIENT_WEB_HTTP_REQUEST_H

#include "client/web/http_inner.h"

/* Keeps the target as it was sent, before MHD decodes it. The first line of a request is there. */
void http_request_keep_target(struct http_connection *connection, const char *target);

/*
 * Goes a step on: the head is complete, `count` bytes of the body have come, or (count 0) the body
 * is complete, or the connection has been resumed. Takes all bytes. False: the connection must be
 * closed.
 */
bool http_request_step(struct http_connection *connection, const char *method, const char *version,
                       const char *bytes, size_t count);

#endif
