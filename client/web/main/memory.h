/* SPDX-License-Identifier: Apache-2.0 */
/* memory: how much memory the page may use, by its limits. */
#ifndef CLIENT_WEB_MAIN_MEMORY_H
#define CLIENT_WEB_MAIN_MEMORY_H

#include <stdio.h>

#include "client/web/setup/config.h"

/* Writes a line about the most memory that the page uses with these limits, and what for. Memory of
 * the kernel for connections is in it, because a control group counts this, too. */
void memory_print(const struct web_config *config, FILE *out);

#endif
