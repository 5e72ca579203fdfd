/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_vfs: a file system for SQLite that fails when told to, between SQLite and the real one; and
 * memory that does the same. For a whole test process: SQLite's own registers are global.
 */
#pragma once

#include <stdbool.h>

enum fault_kind {
    FAULT_WRITE = 1, /* half of it is written, then SQLITE_FULL */
    FAULT_WRITE_ERROR = 2,
    FAULT_SYNC = 4,
    FAULT_TRUNCATE = 8,
    FAULT_READ = 16,
    FAULT_OPEN = 32,
    FAULT_MEMORY = 64,      /* SQLite's */
    FAULT_ALLOC = 128,      /* the rest: with fault_calls.h */
    FAULT_DESCRIPTOR = 256, /* the same: accept, socket, open, ... */
    FAULT_THREAD = 512,     /* the same */
    FAULT_FOR_EVER = 0      /* times */
};

/* Once, before any other use of SQLite. */
void fault_vfs_install(void);

/* The n-th call (from 1) of these kinds fails, and the next ones, `times` in all. */
void fault_vfs_arm(unsigned kinds, unsigned nth, unsigned times);

/* Back to normal. Whether any call failed. */
bool fault_vfs_disarm(void);

/* Whether a call of these kinds, which is about to be made, has to fail; it is counted. */
bool fault_vfs_fails(unsigned kinds);

/* Whether nothing fails on this thread (false at first), as where a test plays the other side. */
void fault_vfs_exempt(bool exempt);

/* From now on nothing is really synced, for tests that are not about what a crash leaves. */
void fault_vfs_skip_syncs(void);

/* The next sync waits until it is let go. */
void fault_vfs_hold_sync(void);
/* Waits until a sync is being held. */
void fault_vfs_await_held(void);
void fault_vfs_let_go(void);
