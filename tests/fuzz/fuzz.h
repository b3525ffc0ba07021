/* What a fuzz target is: libFuzzer's entry point. It must take any input and never crash. */
#ifndef BALLAST_TESTS_FUZZ_H
#define BALLAST_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#endif
