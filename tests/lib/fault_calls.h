/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_calls: memory, descriptors and threads that fail when fault_vfs is armed for them. For an
 * executable that is linked with fault_calls_link_args of tests/lib/meson.build.
 *
 * Memory is that of our own code and of libuv (but for its table of descriptors, without which it
 * ends the program by itself); with FAULT_MEMORY SQLite's. Descriptors (EMFILE) and
 * threads (EAGAIN) are everybody's: libuv and libc call what is defined here.
 */
#pragma once

#include "tests/lib/fault_vfs.h"

/* Once, before any other use of libuv. */
void fault_calls_install(void);
