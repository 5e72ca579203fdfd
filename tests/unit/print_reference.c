/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_reference: the reference of all configuration keys, for scripts/update-reference. hearsayd
 * prints the same with --print-reference; this one needs nothing but the table.
 */
#include <stdio.h>

#include "daemon/config/options.h"

int main(int argc, char **argv)
{
    static char option[] = "--print-reference";
    char *arguments[] = {argv[0], option, argv[1]};
    char reason[CONFIG_REASON_BYTES];
    struct options options = {.restore = NULL};

    if (argc != 2 ||
        settings_options_parse(&options_program, 3, arguments, &options, reason) != 0) {
        (void)fputs("usage: print_reference markdown|mdoc|example\n", stderr);
        return 2;
    }
    return settings_options_answer(&options_program, &options.common, "", NULL, stdout) &&
                   fflush(stdout) == 0
               ? 0
               : 1;
}
