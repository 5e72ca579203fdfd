/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container: gets a struct from a pointer to one of its members.
 */
#pragma once

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
