/* What device is emulated, and how unkindly. */
#ifndef BALLAST_KERNELS_EMULATION_OPTIONS_H
#define BALLAST_KERNELS_EMULATION_OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

/* When what an asynchronous copy brings is there; a device may do any of it. */
enum emulation_landing {
    EMULATION_LATE,  /* when it is waited for, at the last moment */
    EMULATION_EARLY, /* at once */
    EMULATION_MIXED, /* by chance, each copy for itself */
};

struct emulation_options {
    unsigned seed; /* of the order in which warps run, and of EMULATION_MIXED */
    enum emulation_landing landing;
    int capability_major, capability_minor; /* 9.0, or 8.0 without wgmma and TMA */
    int multiprocessors;
    int host_threads; /* that run the blocks of one launch; 0: one for each core */
};

/* Of launches from now on. The defaults: seed 1, late, 9.0, 2 multiprocessors, 0. */
struct emulation_options emulation_get_options(void);
void emulation_set_options(const struct emulation_options *options);

#ifdef __cplusplus
}
#endif

#endif
