/* How much was computed: a measure of time that is the same on every machine. */
#ifndef BALLAST_KERNELS_EMULATION_WORK_H
#define BALLAST_KERNELS_EMULATION_WORK_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Products of 16 x 16 by 16 x 8 that matrix instructions of launches so far came to; a wgmma counts
 * as as many as it holds. Thread-safe; a launch counts when it is complete.
 */
unsigned long long emulation_products(void);

#ifdef __cplusplus
}

namespace emulation
{

void add_products(unsigned long long products);

} // namespace emulation
#endif

#endif
