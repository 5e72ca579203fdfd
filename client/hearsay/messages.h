/* SPDX-License-Identifier: Apache-2.0 */
/* messages: in the tree, stands for the header that the build makes and installs under this name.
 */
#ifndef CLIENT_HEARSAY_MESSAGES_H
#define CLIENT_HEARSAY_MESSAGES_H

#include "proto/messages.h"

#endif
