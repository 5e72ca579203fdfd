/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg: requests and responses as plain structs, without protobuf. hearsay.proto says what each
 * field means. A comment here says only what the struct adds.
 *
 * A decoded message borrows its bytes and strings from the arena of the decoder. A message to be
 * encoded borrows all memory that it points to from the caller. An absent field has the value that
 * hearsay.proto names. Where presence matters, the struct has a has_ flag, or a pointer is NULL.
 * Units: _ms is Unix milliseconds, _s seconds, _ppm millionths (of distances, shares and fills).
 */
#ifndef PROTO_MSG_H
#define PROTO_MSG_H

#include "proto/msg_base.h"
#include "proto/msg_request.h"
#include "proto/msg_response.h"

#endif
