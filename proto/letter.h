/* SPDX-License-Identifier: Apache-2.0 */
/* letter: what bridges say to one another, as plain structs that proto/generate.py makes from
 * bridge.proto; msg.h has the rules. */
#ifndef PROTO_LETTER_H
#define PROTO_LETTER_H

#include "proto/letters.h"
#include "proto/msg.h"

enum { LETTER_VERSION = 1 };

#endif
