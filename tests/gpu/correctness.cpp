/*
 * The kernels against the reference: correctness [--tiny] [--path mma|wgmma] [SEED]. Inputs are new
 * in every run; the seed is printed, so that a failure can be had again. For each tensor, the
 * relative error against double precision may be twice that of a plain implementation in the same
 * type. Also: padding is zero, nothing is written beside the results, everything is written, and
 * two runs with another number of blocks give the same bits.
 */
#include <ballast/attention.h>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/gpu/cases.h"
#include "tests/gpu/device_tensor.h"

namespace
{

constexpr double factor = 2;            /* of the plain implementation's error */
constexpr double smallest_error = 1e-6; /* below this both are exact */
constexpr double lse_error = 2e-3;      /* absolute: of sums of a few hundred fp32 terms, by ex2 */

struct options {
    bool tiny = false;
    ballast_attention_path path = BALLAST_ATTENTION_PATH_AUTO;
    uint64_t seed = std::random_device()();
};

/* What one run of a case left. */
struct device_bits {
    std::vector<uint16_t> out, q_gradient, k_gradient, v_gradient;
    std::vector<float> lse;

    bool operator==(const device_bits &other) const
    {
        return out == other.out && q_gradient == other.q_gradient &&
               k_gradient == other.k_gradient && v_gradient == other.v_gradient &&
               std::memcmp(lse.data(), other.lse.data(), lse.size() * sizeof(float)) == 0;
    }
};

std::vector<uint16_t> bits_of_all(ballast_attention_type type, const std::vector<double> &numbers)
{
    std::vector<uint16_t> bits(numbers.size());
    for (size_t i = 0; i < numbers.size(); i++)
        bits[i] = bits_of(type, numbers[i]);
    return bits;
}

std::vector<double> numbers_of_all(ballast_attention_type type, const std::vector<uint16_t> &bits)
{
    std::vector<double> numbers(bits.size());
    for (size_t i = 0; i < bits.size(); i++)
        numbers[i] = number_of(type, bits[i]);
    return numbers;
}

/* All tensors of a case on the device. */
struct device_case {
    device_tensor q, k, v, out_gradient, out, lse, q_gradient, k_gradient, v_gradient;

    device_case(const attention_case &c, const case_plan &plan, const case_inputs &in)
        : q(in.q.size() * 2), k(in.k.size() * 2), v(in.v.size() * 2), out_gradient(in.q.size() * 2),
          out(in.q.size() * 2), lse(size_t{ c.heads } * plan.plan.padded_tokens * sizeof(float)),
          q_gradient(in.q.size() * 2), k_gradient(in.k.size() * 2), v_gradient(in.v.size() * 2)
    {
        q.set(bits_of_all(c.type, in.q));
        k.set(bits_of_all(c.type, in.k));
        v.set(bits_of_all(c.type, in.v));
        out_gradient.set(bits_of_all(c.type, in.out_gradient));
    }
    bool guards_hold() const
    {
        for (const device_tensor *tensor :
             { &q, &k, &v, &out_gradient, &out, &lse, &q_gradient, &k_gradient, &v_gradient })
            if (!tensor->guards_hold())
                return false;
        return true;
    }
    void poison_results()
    {
        for (device_tensor *tensor : { &out, &lse, &q_gradient, &k_gradient, &v_gradient })
            tensor->poison();
    }
    device_bits bits() const
    {
        return { out.values<uint16_t>(), q_gradient.values<uint16_t>(),
                 k_gradient.values<uint16_t>(), v_gradient.values<uint16_t>(),
                 lse.values<float>() };
    }
};

ballast_attention_status launch(const ballast_attention_problem *problem, const attention_case &c,
                                const device_case &device, ballast_attention_error *error)
{
    ballast_attention_forward_call forward = BALLAST_ATTENTION_FORWARD_INIT;
    forward.q = device.q.get();
    forward.k = device.k.get();
    forward.v = device.v.get();
    forward.out = device.out.get();
    forward.lse = static_cast<float *>(device.lse.get());
    forward.out_type = c.type;
    ballast_attention_status status = ballast_attention_forward(problem, &forward, nullptr, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    ballast_attention_backward_call backward = BALLAST_ATTENTION_BACKWARD_INIT;
    backward.q = forward.q;
    backward.k = forward.k;
    backward.v = forward.v;
    backward.out = forward.out;
    backward.lse = forward.lse;
    backward.out_gradient = device.out_gradient.get();
    backward.q_gradient = device.q_gradient.get();
    backward.k_gradient = device.k_gradient.get();
    backward.v_gradient = device.v_gradient.get();
    backward.out_type = backward.q_gradient_type = backward.kv_gradient_type = c.type;
    return ballast_attention_backward(problem, &backward, nullptr, error);
}

/* Forward and backward with so many blocks, 0 for the library's choice. */
ballast_attention_status run(const attention_case &c, const case_plan &plan, const options &options,
                             uint32_t blocks, device_case &device, ballast_attention_error *error)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.type = c.type;
    layout.heads = c.heads;
    layout.kv_heads = c.kv_heads;
    layout.head_dim = c.head_dim;
    layout.path = options.path;
    layout.blocks = blocks;
    ballast_attention_problem *problem;
    ballast_attention_status status =
        ballast_attention_problem_new(&layout, &plan.plan, &problem, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    size_t bytes = ballast_attention_workspace_bytes(problem);
    device_tensor workspace(bytes);
    device.poison_results();
    status = ballast_attention_upload(problem, workspace.get(), bytes, nullptr, error);
    if (status == BALLAST_ATTENTION_OK)
        status = launch(problem, c, device, error);
    need(cudaDeviceSynchronize(), "the kernels");
    if (status == BALLAST_ATTENTION_OK && !workspace.guards_hold()) {
        std::snprintf(error->text, sizeof error->text, "something beside the workspace changed");
        status = BALLAST_ATTENTION_INVALID;
    }
    ballast_attention_problem_free(problem);
    return status;
}

/* Length of the difference over the length of what is right; NaN counts as infinite. */
double relative_error(const std::vector<double> &found, const std::vector<double> &right)
{
    double difference = 0, length = 0;
    for (size_t i = 0; i < right.size(); i++) {
        difference += (found[i] - right[i]) * (found[i] - right[i]);
        length += right[i] * right[i];
    }
    double error = std::sqrt(difference / (length > 0 ? length : 1));
    return std::isnan(error) ? INFINITY : error;
}

double worst_lse(const std::vector<float> &found, const std::vector<double> &right)
{
    double worst = 0;
    for (size_t i = 0; i < right.size(); i++) {
        bool padding = std::isinf(right[i]);
        double off = padding ? (static_cast<double>(found[i]) == right[i] ? 0 : INFINITY)
                             : std::fabs(static_cast<double>(found[i]) - right[i]);
        worst = std::isnan(off) ? INFINITY : std::fmax(worst, off);
    }
    return worst;
}

/* Prints a line for each tensor that is too far off; true when none is. */
bool compare(const attention_case &c, const device_bits &bits, const case_results &right,
             const case_results &plain, double *ret_worst)
{
    const struct {
        const char *name;
        std::vector<double> found;
        const std::vector<double> &right, &plain;
    } tensors[] = {
        { "out", numbers_of_all(c.type, bits.out), right.out, plain.out },
        { "q_gradient", numbers_of_all(c.type, bits.q_gradient), right.q_gradient,
          plain.q_gradient },
        { "k_gradient", numbers_of_all(c.type, bits.k_gradient), right.k_gradient,
          plain.k_gradient },
        { "v_gradient", numbers_of_all(c.type, bits.v_gradient), right.v_gradient,
          plain.v_gradient },
    };
    bool good = true;
    for (const auto &tensor : tensors) {
        double error = relative_error(tensor.found, tensor.right);
        double limit = factor * relative_error(tensor.plain, tensor.right) + smallest_error;
        *ret_worst = std::fmax(*ret_worst, error / limit);
        if (error > limit) {
            std::printf("    %s: relative error %.3g, at most %.3g\n", tensor.name, error, limit);
            good = false;
        }
    }
    double off = worst_lse(bits.lse, right.lse);
    if (off > lse_error)
        std::printf("    lse: off by %.3g, at most %.3g\n", off, lse_error);
    return good && off <= lse_error;
}

/* 1: right, 0: wrong, -1: there is no such kernel here. */
int check_case(const attention_case &c, const options &options, uint64_t seed)
{
    case_plan plan(c);
    case_inputs inputs = random_inputs(c, plan, seed);
    device_case device(c, plan, inputs);
    ballast_attention_error error = { "" };
    ballast_attention_status status = run(c, plan, options, 0, device, &error);
    if (status == BALLAST_ATTENTION_UNSUPPORTED)
        return -1;
    device_bits bits = device.bits();
    double worst = 0;
    bool good =
        status == BALLAST_ATTENTION_OK && compare(c, bits, expected_results(c, plan, inputs, false),
                                                  expected_results(c, plan, inputs, true), &worst);
    if (good && !device.guards_hold()) {
        std::printf("    something beside a tensor changed\n");
        good = false;
    }
    if (good) {
        status = run(c, plan, options, 1, device, &error);
        good = status == BALLAST_ATTENTION_OK && device.bits() == bits;
        if (!good)
            std::printf("    with one block the bits are others\n");
    }
    std::printf("%s  %s, %u/%u heads of %u, %s: %.2f of the limit%s%s\n", good ? "ok  " : "FAIL",
                c.name.c_str(), c.heads, c.kv_heads, c.head_dim,
                c.type == BALLAST_ATTENTION_BF16 ? "bf16" : "fp16", worst,
                error.text[0] ? "; " : "", error.text);
    return good ? 1 : 0;
}

options parse(int argc, char *argv[])
{
    options options;
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];
        if (word == "--tiny")
            options.tiny = true;
        else if (word == "--path" && i + 1 < argc)
            options.path = std::string(argv[++i]) == "wgmma" ? BALLAST_ATTENTION_PATH_WGMMA
                                                             : BALLAST_ATTENTION_PATH_MMA;
        else
            options.seed = std::strtoull(argv[i], nullptr, 0);
    }
    return options;
}

} // namespace

int main(int argc, char *argv[])
{
    options options = parse(argc, argv);
    int right = 0, wrong = 0, absent = 0;
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    for (const attention_case &c : cases_of(options.tiny)) {
        int found = check_case(c, options, options.seed + static_cast<uint64_t>(right));
        right += found == 1;
        wrong += found == 0;
        absent += found == -1;
    }
    std::printf("correctness: %d right, %d wrong, %d without a kernel\n", right, wrong, absent);
    return wrong ? 1 : right ? 0 : 77;
}
