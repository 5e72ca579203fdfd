/* SPDX-License-Identifier: Apache-2.0 */
/* For a program without a main of its own: the linker takes this from the library. */
#include "tests/lib/check.h"

int main(void)
{
    return check_run(NULL, NULL);
}
