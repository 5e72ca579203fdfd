/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flash_device: an ext4 file system of its own on a loop device, which counts what is written to
 * it. Needs root and mkfs.ext4.
 */
#pragma once

#include "tests/bench/child.h"

struct flash_device {
    struct child_directory directory; /* has the image, and the folder that it is mounted on */
    char mount[CHILD_PATH_BYTES + 8];
    int loop; /* the loop device; -1: none */
    int number;
    bool is_mounted;
};

/* Makes the file system, below `parent`. 0 or -1; call flash_device_end in both cases. */
int flash_device_begin(struct flash_device *device, const char *parent);
void flash_device_end(struct flash_device *device);

/* Writes everything to the device. Returns the bytes written to it so far, or -1. */
int64_t flash_device_written(const struct flash_device *device);
