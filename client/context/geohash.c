/* SPDX-License-Identifier: Apache-2.0 */
/*
 * geohash: converts positions to geohashes. A cell includes its southern and its western edge. The
 * edge at 90 degrees north belongs to the northernmost cells, and the edge at 180 degrees east to
 * the easternmost cells. A geohash of L characters has 5 L bits, alternately of longitude and
 * latitude, longitude first: ceil(5L/2) bits of longitude and floor(5L/2) bits of latitude.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"

/*
 * Computes the first `bits` bits of the position of `value` in [low, high], by halving the
 * interval. For 360 and 180 degrees the halves are exact in a double for up to 20 bits, so all
 * machines compute the same bits.
 */
static uint32_t geohash_halve(double value, double low, double high, int bits)
{
    uint32_t place = 0;
    for (int i = 0; i < bits; i++) {
        double middle = (low + high) / 2;
        bool upper = value >= middle;
        place = place << 1 | (upper ? 1 : 0);
        low = upper ? middle : low;
        high = upper ? high : middle;
    }
    return place;
}

static void write_cell(uint32_t column, uint32_t row, int length, char *out)
{
    static const char digits[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    int columns_left = (5 * length + 1) / 2;
    int rows_left = 5 * length / 2;
    for (int i = 0; i < length; i++) {
        unsigned digit = 0;
        for (int bit = 0; bit < 5; bit++) {
            bool across = (5 * i + bit) % 2 == 0;
            uint32_t next = across ? column >> --columns_left : row >> --rows_left;
            digit = digit << 1 | (next & 1);
        }
        out[i] = digits[digit];
    }
    out[length] = '\0';
}

/*
 * Writes geohashes of `length` characters, each with a NUL: the geohash of the cell with the
 * position and, if `neighbours` is set, the geohashes of the cells around this cell. Returns the
 * number of geohashes. The caller has checked the range of the position.
 */
static size_t geohash_cells(double latitude, double longitude, int length, bool neighbours,
                            char out[CONTEXT_CELLS_MAX][CONTEXT_GEOHASH_MAX + 1])
{
    int column_bits = (5 * length + 1) / 2;
    int row_bits = 5 * length / 2;
    uint32_t column = geohash_halve(longitude, -180, 180, column_bits);
    uint32_t row = geohash_halve(latitude, -90, 90, row_bits);
    size_t count = 0;
    write_cell(column, row, length, out[count++]);
    if (!neighbours) {
        return count;
    }
    for (int north = 1; north >= -1; north--) {
        for (int east = -1; east <= 1; east++) {
            int64_t other_row = (int64_t)row + north;
            if ((north == 0 && east == 0) || other_row < 0 || other_row >> row_bits != 0) {
                continue; /* there is nothing beyond the poles */
            }
            /*
             * Columns wrap around the world: unsigned arithmetic wraps, and the mask keeps
             * column_bits bits.
             */
            uint32_t other_column = (column + (uint32_t)east) & ((UINT32_C(1) << column_bits) - 1);
            write_cell(other_column, (uint32_t)other_row, length, out[count++]);
        }
    }
    return count;
}

int hearsay_context_add_position(struct hearsay_context *context, double latitude, double longitude,
                                 bool neighbours, struct hearsay_error *out_error)
{
    /* The condition is written so that NaN is refused, too. */
    if (!(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%.10g,%.10g is not a latitude from -90 to 90 and a longitude from -180 to "
                        "180 degrees",
                        latitude, longitude);
    }
    int status = HEARSAY_OK;
    for (int length = CONTEXT_GEOHASH_MIN; length <= CONTEXT_GEOHASH_MAX; length++) {
        char cells[CONTEXT_CELLS_MAX][CONTEXT_GEOHASH_MAX + 1];
        size_t count = geohash_cells(latitude, longitude, length, neighbours, cells);
        for (size_t i = 0; i < count && status == HEARSAY_OK; i++) {
            char label[32];
            int written = snprintf(label, sizeof(label), "geo:%s", cells[i]);
            status = context_add(context, label, (size_t)written, out_error);
        }
    }
    return status;
}
