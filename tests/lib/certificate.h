/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certificate: a key and a certificate that it signed itself, in files of a directory of their own,
 * for tests of TLS. Failing is a failed assertion.
 */
#pragma once

enum { CERTIFICATE_PATH_BYTES = 64 };

struct certificate {
    char directory[CERTIFICATE_PATH_BYTES]; /* in the current one */
    char file[CERTIFICATE_PATH_BYTES];
    char key_file[CERTIFICATE_PATH_BYTES];
};

/* For "server", from a minute ago on for an hour. */
void certificate_make(struct certificate *certificate);
void certificate_remove(const struct certificate *certificate);
