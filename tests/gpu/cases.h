/*
 * Cases of attention with random inputs: the same for the device, for the reference in double
 * precision, and for a plain implementation in low precision, whose error measures the kernels'.
 */
#ifndef BALLAST_TESTS_GPU_CASES_H
#define BALLAST_TESTS_GPU_CASES_H

#include <ballast/attention.h>
#include <cstdint>
#include <string>
#include <vector>

struct attention_case {
    std::string name;
    std::vector<uint32_t> lengths; /* of the pieces */
    uint32_t cp, rank;
    uint32_t heads, kv_heads, head_dim;
    ballast_attention_type type;
};

/* A few that take a moment on the CPU's emulation, or many that reach every branch. */
std::vector<attention_case> cases_of(bool tiny);

/* Who has which rows; owns what `plan` points to. */
class case_plan
{
  public:
    explicit case_plan(const attention_case &c);
    ~case_plan();
    case_plan(const case_plan &) = delete;
    case_plan &operator=(const case_plan &) = delete;

    ballast_attention_plan plan;
    uint32_t keys;

  private:
    struct owned;
    owned *arrays;
};

/* Tensors as numbers; those of one rank, dense. */
struct case_inputs {
    std::vector<double> q, k, v, out_gradient;
};

struct case_results {
    std::vector<double> out, lse, q_gradient, k_gradient, v_gradient;
};

/* Normal numbers that the case's type holds; the same seed gives the same. */
case_inputs random_inputs(const attention_case &c, const case_plan &plan, uint64_t seed);

/* On the host: exactly, or as a plain implementation that keeps every tensor in the case's type. */
case_results expected_results(const attention_case &c, const case_plan &plan,
                              const case_inputs &inputs, bool low_precision);

/* Numbers as the bits of the case's type, and back. */
uint16_t bits_of(ballast_attention_type type, double value);
double number_of(ballast_attention_type type, uint16_t bits);

#endif
