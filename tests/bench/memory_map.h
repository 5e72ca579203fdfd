/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_map: what of a process is resident, by what it is.
 */
#pragma once

#include <sys/types.h>

/* Resident bytes. Their sum is the VmRSS of /proc/PID/status, except for rounding. */
struct memory_map {
    double heap;      /* [heap]: the allocator's main arena */
    double anonymous; /* large blocks and the allocator's other arenas */
    double stack;
    double files;  /* the program and its libraries */
    double shared; /* the database's index of its log */
    double total;
};

/* 0 or -1. */
int memory_map_read(pid_t pid, struct memory_map *out);
