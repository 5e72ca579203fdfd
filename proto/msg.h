/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg: requests and responses as plain structs, without protobuf. hearsay.proto says what each
 * field means. A comment here says only what the struct adds.
 *
 * A decoded message points to memory of the arena that the decoder was given, or to static storage.
 * A message to be encoded borrows the memory that it points to from the caller. The tables in
 * proto/codec/request.c and proto/codec/response.c have the values of absent fields. Where a struct
 * shows whether a field is present, it has a has_ flag, or the pointer to an absent field is NULL.
 * Units: _ms is Unix milliseconds (in retry_after_ms a duration), _s seconds, _ppm millionths.
 */
#ifndef PROTO_MSG_H
#define PROTO_MSG_H

#include "proto/msg_base.h"
#include "proto/msg_query.h"
#include "proto/msg_request.h"
#include "proto/msg_response.h"

#endif
