/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_json: messages of the protocol as JSON objects, in the form of frames.json. Fields that
 * have their default value are left out. A failure of jansson is a failed assertion.
 */
#pragma once

#include <jansson.h>

#include "proto/msg.h"

/* A new object; the caller releases it with json_decref. */
json_t *frames_json_request(const struct hearsay_request *request);
json_t *frames_json_response(const struct hearsay_response *response);
