/* Nothing of it is used here; nccl.h includes it. */
