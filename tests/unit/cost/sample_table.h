/* A cost table that tests change one line of. */
#ifndef BALLAST_TESTS_COST_SAMPLE_TABLE_H
#define BALLAST_TESTS_COST_SAMPLE_TABLE_H

#define SAMPLE_FIRST "# ballast cost table 1\n"
#define SAMPLE_KEYS                                                                                \
    "# device: test\n# dtype: bf16\n# heads: 8\n# head_dim: 128\n# kernel: none 1.0\n# unit: us\n"
#define SAMPLE_COLUMNS "op,tp,cp,q,kv,latency\n"

/* Lines 1 to 8. */
#define SAMPLE_HEAD SAMPLE_FIRST SAMPLE_KEYS SAMPLE_COLUMNS
#define SAMPLE_TABLE                                                                               \
    SAMPLE_HEAD "attention,2,1,1024,1024,10\n"                                                     \
                "attention,2,1,2048,2048,30\n"                                                     \
                "attention,2,1,4096,4096,100\n"                                                    \
                "linear,2,1,1000,0,20\n"                                                           \
                "attention,2,2,512,768,7\n"                                                        \
                "attention,2,2,1024,1536,16.5\n"                                                   \
                "linear,2,2,500,0,11\n"                                                            \
                "attention,4,1,1024,1024,6\n"                                                      \
                "attention,4,1,2048,2048,16\n"

#endif
