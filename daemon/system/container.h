/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container: from a pointer to an embedded member back to the struct that embeds it.
 */
#ifndef DAEMON_SYSTEM_CONTAINER_H
#define DAEMON_SYSTEM_CONTAINER_H

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
