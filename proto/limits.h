/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits: the limits and constants of the protocol, the same for every server. The message Limits
 * in Welcome has the limits that a server's configuration sets. Where this file has a limit, no
 * server sets it higher. Sizes are in bytes, counts in elements.
 */
#pragma once

enum {
    LIMIT_VERSION = 1,            /* the protocol version spoken */
    LIMIT_PORT = 7117,            /* TCP */
    LIMIT_FRAME_HEADER_BYTES = 4, /* big-endian length of what follows */
    LIMIT_FRAME_BYTES_DEFAULT = 64 * 1024,
    LIMIT_FRAME_BYTES_MIN = 4 * 1024, /* what a frame limit may be set to */
    LIMIT_FRAME_BYTES_MAX = 1024 * 1024,
    LIMIT_ID_BYTES = 16,      /* message id, store id */
    LIMIT_TOKEN_BYTES = 32,   /* withdraw token */
    LIMIT_HASH_BYTES = 32,    /* withdraw hash */
    LIMIT_RESUME_BYTES = 64,  /* resume token, at most */
    LIMIT_ADDRESS_BYTES = 16, /* of IPv6; an IPv4 address has LIMIT_ADDRESS_BYTES_MIN */
    LIMIT_ADDRESS_BYTES_MIN = 4,
    LIMIT_CURSOR_BYTES = 32,  /* cursor of Export or Reported, at most */
    LIMIT_KEY_BYTES = 32,     /* an epoch's key */
    LIMIT_FILTER_BYTES = 512, /* 4096 bits */
    LIMIT_HOST_BYTES = 63,    /* host name: [a-z0-9] and -, no - at the ends */
    LIMIT_MEDIA_TYPE_BYTES = 127,
    LIMIT_AGENT_BYTES = 127,
    LIMIT_VERSIONS = 16,       /* in Hello and Error */
    LIMIT_PARTS = 64,          /* in Query */
    LIMIT_SLICES = 32,         /* in Query.exclude */
    LIMIT_HASHES = 32,         /* of one slice */
    LIMIT_SLICES_HASHES = 256, /* of all slices of a query together */
    LIMIT_SLICES_PPM = 600000, /* upper bound of a sum over all slices of a query: the probability,
                                * in millionths, that the slice has a random id */
    LIMIT_DISTANCE_PPM = 1000000,  /* distance 1, in millionths */
    LIMIT_RESULTS = 1000,          /* in Results: the largest k */
    LIMIT_WAIT_MS = 10000,         /* Query.wait_ms, at most */
    LIMIT_WAIT_MS_DEFAULT = 1000,  /* Query.wait_ms when absent */
    LIMIT_GROUPS = 64,             /* in Summarized */
    LIMIT_SECTIONS = 16,           /* of a profile: in SummaryGroup */
    LIMIT_FLOOR = 1 << 24,         /* Query.floor: similarity 1 */
    LIMIT_EXPORTED = 1000,         /* messages on a page of Exported */
    LIMIT_FIGURES = 2048,          /* in StatsTaken */
    LIMIT_FIGURE_BYTES = 127,      /* a figure's name */
    LIMIT_REASON_BYTES = 1000,     /* of a report */
    LIMIT_REASONS = 16,            /* of one reported message */
    LIMIT_REPORTED = 1000,         /* in ReportedList */
    LIMIT_BANS = 1000,             /* of a host, and in BanList */
    LIMIT_DECISIONS = 1000,        /* in DecisionList */
    LIMIT_SIMILAR = 1000,          /* in SimilarList */
    LIMIT_NOTE_BYTES = 200,        /* reason of a decision */
    LIMIT_NOTICES = 5,             /* of one host */
    LIMIT_NOTICE_BYTES = 500,      /* text of a notice */
    LIMIT_LANGUAGE_BYTES = 35,     /* tag of BCP 47 */
    LIMIT_STATE = 4,               /* state of an ExportedMessage */
    LIMIT_RULE_KIND = 4,           /* kind of a RuleState */
    LIMIT_CHANGES = 256,           /* in Changed and Apply */
    LIMIT_CHANGES_WAIT_MS = 60000, /* wait_ms of Changes */
    LIMIT_WORD_BYTES = 15,         /* open, review; info, debug; ... */
    LIMIT_PATH_BYTES = 4095,       /* of a backup's file */
    LIMIT_CAPABILITIES = 64,
    LIMIT_HOSTS = 64,
    LIMIT_LABELS = 256, /* here labels */
    LIMIT_LABEL_BYTES = 240,
    LIMIT_PLACES = 256, /* names of places in HereLabels */
    LIMIT_PLACE_NAME_BYTES = 64,
    LIMIT_RULE_BYTES = LIMIT_LANGUAGE_BYTES + 1 + LIMIT_NOTICE_BYTES + 1 +
                       LIMIT_PLACE_NAME_BYTES, /* value of a RuleState */
    LIMIT_PROFILE_BYTES = 255,
    LIMIT_ERROR_BYTES = 511,       /* an error's sentence */
    LIMIT_FIELD_BYTES = 63,        /* an error's field name */
    LIMIT_REPEATED = 256,          /* most entries of a repeated field without another limit here */
    LIMIT_UNKNOWN_REQUEST = 256,   /* unknown fields in a request, all together */
    LIMIT_UNKNOWN_RESPONSE = 8192, /* in a response: a few in each of its results */
    LIMIT_NESTING = 4              /* messages within messages */
};

/* The `uid` of a decision that came from the hub. */
#define LIMIT_UID_HUB UINT32_MAX
