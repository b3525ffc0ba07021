/* 128-bit integers, for products that must not overflow in exact comparisons. */
#ifndef BALLAST_BASE_WIDE_H
#define BALLAST_BASE_WIDE_H

__extension__ typedef unsigned __int128 wide;

#endif
