/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_form: the forms that texts in the protocol must have. Only the codec uses this.
 */
#ifndef PROTO_CODEC_FORM_H
#define PROTO_CODEC_FORM_H

#include "proto/codec/map.h"

/* 1 to LIMIT_HOST_BYTES of a-z, 0-9 and -, with no - at the ends. */
extern const struct map_form codec_form_host;

/* A media type: see codec_is_media_type. */
extern const struct map_form codec_form_media_type;

/* Text that goes into lists and onto terminals: no control characters. */
extern const struct map_form codec_form_line;

#endif
