/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_hint: says how to allow a path that the program's systemd unit forbids. The units of this
 * tree let the programs write to few directories, and the kernel's error alone ("Read-only file
 * system") does not tell an operator that a unit is the reason.
 */
#ifndef DAEMON_SYSTEM_UNIT_HINT_H
#define DAEMON_SYSTEM_UNIT_HINT_H

enum { UNIT_HINT_BYTES = 768 };

/*
 * Writes what to append to a sentence about a write below `directory` that failed with `error`, an
 * errno. "": no unit started this process, or the error has another reason. A unit explains EROFS
 * (ProtectSystem=strict), and EACCES below /home, /root and /run/user (ProtectHome=yes). Returns
 * `out`. May change errno.
 */
const char *unit_hint(const char *directory, int error, char out[UNIT_HINT_BYTES]);

/* As unit_hint, for the directory of the file or socket at an absolute path. */
const char *unit_hint_of_file(const char *path, int error, char out[UNIT_HINT_BYTES]);

#endif
