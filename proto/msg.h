/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg: requests and responses as plain structs, without protobuf. hearsay.proto says what each
 * field means; the comments here say what the struct adds.
 *
 * A decoded message borrows its bytes and strings from the arena that it was decoded with. A
 * message to be encoded borrows everything that it points to from its maker. An absent field has
 * the value that hearsay.proto names; where presence itself matters there is a has_ flag, or a
 * NULL. Units: _ms is Unix milliseconds, _s seconds, _ppm millionths (distances, shares, fills).
 */
#ifndef PROTO_MSG_H
#define PROTO_MSG_H

#include "proto/msg_base.h"
#include "proto/msg_request.h"
#include "proto/msg_response.h"

#endif
