#include "tests/gpu/cases.h"

#include <cmath>
#include <cstdlib>
#include <random>

#include "kernels/half/half.h"
#include "kernels/profile/pack.h"
#include "kernels/ref/reference.h"

namespace
{

constexpr uint32_t row_multiple = 8; /* so that there is padding in most cases */

[[noreturn]] void out_of_memory()
{
    std::fprintf(stderr, "out of memory\n");
    std::exit(70);
}

double store_bf16(double value)
{
    return bf16_to_float(bf16_from_float(static_cast<float>(value)));
}

double store_fp16(double value)
{
    return fp16_to_float(fp16_from_float(static_cast<float>(value)));
}

void fill(std::vector<double> &tensor, size_t count, ballast_attention_type type,
          std::mt19937_64 &random)
{
    std::normal_distribution<double> normal;
    tensor.resize(count);
    for (double &value : tensor)
        value = number_of(type, bits_of(type, normal(random)));
}

/* Every head shape with every type, over pieces that reach every kind of tile. */
void add_matrix(std::vector<attention_case> &cases, const std::string &name,
                const std::vector<uint32_t> &lengths, uint32_t cp, uint32_t rank)
{
    static const uint32_t heads[][2] = { { 2, 2 }, { 8, 2 }, { 8, 1 } };
    for (auto [query_heads, kv_heads] : heads)
        for (uint32_t head_dim : { 64U, 128U })
            for (ballast_attention_type type : { BALLAST_ATTENTION_BF16, BALLAST_ATTENTION_F16 })
                cases.push_back({ name, lengths, cp, rank, query_heads, kv_heads, head_dim, type });
}

} // namespace

std::vector<attention_case> cases_of(bool tiny)
{
    if (tiny)
        return { { "short pieces", { 1, 40, 1, 90 }, 1, 0, 2, 1, 64, BALLAST_ATTENTION_BF16 },
                 { "a share", { 150, 37 }, 2, 1, 4, 2, 128, BALLAST_ATTENTION_F16 } };
    std::vector<attention_case> cases;
    add_matrix(cases, "one piece", { 700 }, 1, 0);
    add_matrix(cases, "pieces of a token", std::vector<uint32_t>(70, 1), 1, 0);
    add_matrix(cases, "short and long", { 1, 127, 128, 129, 3, 400, 64 }, 1, 0);
    add_matrix(cases, "first rank of 4", { 801, 15, 2, 130 }, 4, 0);
    add_matrix(cases, "last rank of 8", { 901, 64, 7, 130 }, 8, 7);
    return cases;
}

struct case_plan::owned {
    profile_pack pack;
};

case_plan::case_plan(const attention_case &c) : arrays(new owned{})
{
    uint32_t dealer = 0, rows = 0;
    for (uint32_t length : c.lengths)
        if (!profile_pack_add_share(&arrays->pack, length, c.cp, c.rank, &dealer))
            out_of_memory();
    plan = profile_pack_plan(&arrays->pack);
    keys = profile_pack_tokens(&arrays->pack);
    for (uint32_t i = 0; i < plan.chunk_count; i++)
        rows += plan.chunks[i].length;
    plan.padded_tokens = (rows / row_multiple + 1) * row_multiple;
}

case_plan::~case_plan()
{
    profile_pack_fini(&arrays->pack);
    delete arrays;
}

uint16_t bits_of(ballast_attention_type type, double value)
{
    auto number = static_cast<float>(value);
    return type == BALLAST_ATTENTION_BF16 ? bf16_from_float(number) : fp16_from_float(number);
}

double number_of(ballast_attention_type type, uint16_t bits)
{
    return type == BALLAST_ATTENTION_BF16 ? bf16_to_float(bits) : fp16_to_float(bits);
}

case_inputs random_inputs(const attention_case &c, const case_plan &plan, uint64_t seed)
{
    std::mt19937_64 random(seed);
    size_t rows = size_t{ plan.plan.padded_tokens } * c.heads * c.head_dim;
    size_t keys = size_t{ plan.keys } * c.kv_heads * c.head_dim;
    case_inputs inputs;
    fill(inputs.q, rows, c.type, random);
    fill(inputs.k, keys, c.type, random);
    fill(inputs.v, keys, c.type, random);
    fill(inputs.out_gradient, rows, c.type, random);
    return inputs;
}

case_results expected_results(const attention_case &c, const case_plan &plan,
                              const case_inputs &inputs, bool low_precision)
{
    std::vector<uint32_t> first_key(plan.plan.padded_tokens), visible(plan.plan.padded_tokens);
    reference_visibility(&plan.plan, first_key.data(), visible.data());
    auto *store = c.type == BALLAST_ATTENTION_BF16 ? store_bf16 : store_fp16;
    const reference reference = { c.heads,
                                  c.kv_heads,
                                  c.head_dim,
                                  1 / std::sqrt(c.head_dim),
                                  plan.plan.padded_tokens,
                                  plan.keys,
                                  first_key.data(),
                                  visible.data(),
                                  low_precision ? store : nullptr };
    case_results r;
    r.out.resize(inputs.q.size());
    r.lse.resize(size_t{ c.heads } * plan.plan.padded_tokens);
    r.q_gradient.resize(inputs.q.size());
    r.k_gradient.resize(inputs.k.size());
    r.v_gradient.resize(inputs.v.size());
    if (!reference_forward(&reference, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                           r.out.data(), r.lse.data()) ||
        !reference_backward(&reference, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                            r.out.data(), r.lse.data(), inputs.out_gradient.data(),
                            r.q_gradient.data(), r.k_gradient.data(), r.v_gradient.data()))
        out_of_memory();
    return r;
}
