/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_form: whether a label that a person wrote is as clients write it. Clients compare labels
 * byte for byte, so wifi:A4-2B-8C-01-02-03 would be a label that no client ever has.
 */
#pragma once

#include <stddef.h>

enum { LABEL_FORM_SENTENCE_BYTES = 400 };

/*
 * Checks that `length` bytes are a label (label_check); that a label of `wifi`, `geo`, `time` or
 * `topic` has the form that docs/protocol.md gives it; and that no second label begins behind a
 * blank, as it does where a comma was forgotten. Of topics only ASCII is checked, because all else
 * takes the tables of Unicode. Returns 0; or LABEL_REFUSED with a sentence that says what would be
 * right. O(length)
 */
int label_form_check(const char *bytes, size_t length,
                     char out_sentence[LABEL_FORM_SENTENCE_BYTES]);
