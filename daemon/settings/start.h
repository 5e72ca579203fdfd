/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_start: the beginning of every program: its command line, its configuration, and the
 * answers to options such as --help and --check-config.
 */
#ifndef DAEMON_SETTINGS_START_H
#define DAEMON_SETTINGS_START_H

#include "daemon/settings/config.h"

/* What the functions below return if the program goes on. */
enum { SETTINGS_GO_ON = -1, SETTINGS_EXIT_USAGE = 2 };

/*
 * Reads the command line into *options, and answers options that need no configuration. Returns
 * SETTINGS_GO_ON, or the exit status with which the program ends; then an answer or an error has
 * been printed.
 */
int settings_begin(const struct settings_program *program, int argc, char *const argv[],
                   void *options);

/*
 * Loads the configuration, and answers the options that need it. From then on SIGPIPE is ignored.
 * Returns as settings_begin.
 */
int settings_prepare(const struct settings_program *program, const void *options, void *config);

/* Flushes standard output. Returns the exit status of a program that has printed its answer. */
int settings_finish_output(const struct settings_program *program);

/*
 * Reports that a start has failed, of which `rc` is the result. Returns the exit status: a start
 * that is refused (SETTINGS_REFUSED) is a matter of the configuration.
 */
int settings_fail_start(int rc, const char *reason);

#endif
