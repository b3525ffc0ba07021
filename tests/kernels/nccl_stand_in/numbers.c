/* Whichever header declares NCCL, its numbers are these; that it compiles is the test. */
#include <assert.h>
#include <nccl.h>

#define NCCL_NAME(name, value) static_assert((name) == (value), #name);
#include "numbers.def"
#undef NCCL_NAME
