/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_feed: the tables of messages that requests and responses have in common. Only the codec
 * uses this file.
 */
#ifndef PROTO_CODEC_FEED_H
#define PROTO_CODEC_FEED_H

#include "proto/codec/map.h"

extern const struct map codec_exported_message_map;
extern const struct map codec_change_map;

#endif
