/* SPDX-License-Identifier: Apache-2.0 */
/* letter: what bridges say to one another, as plain structs that proto/generate.py makes from
 * bridge.proto; msg.h has the rules. */
#pragma once

#include "proto/letters.h"
#include "proto/msg.h"

enum { LETTER_VERSION = 1 };
