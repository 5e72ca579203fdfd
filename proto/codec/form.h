/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_form: rules for texts in the protocol, such as a host's name. Only the codec uses this
 * file.
 */
#ifndef PROTO_CODEC_FORM_H
#define PROTO_CODEC_FORM_H

#include "proto/codec/map.h"

/* A host's name: 1 to LIMIT_HOST_BYTES characters of a-z, 0-9 and -, with no - at either end. */
extern const struct map_form codec_form_host;

/* A media type: see codec_is_media_type. */
extern const struct map_form codec_form_media_type;

/* A text without ASCII control characters (0x00 to 0x1f, 0x7f). */
extern const struct map_form codec_form_line;

/* A tag of a language as BCP 47 forms it: parts of 1 to 8 letters and digits with - between them,
 * the first of 2 to 8 letters. */
extern const struct map_form codec_form_language;

#endif
