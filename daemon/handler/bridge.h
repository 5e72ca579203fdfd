/* SPDX-License-Identifier: Apache-2.0 */
/* bridge: the handlers of requests about copies of a host, in the folder bridge/. */
#pragma once

#include "daemon/handler/ask.h"

void handler_changes(struct ask *ask);
void handler_apply(struct ask *ask);
