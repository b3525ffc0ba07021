/*
 * h100: NVIDIA H100 SXM, NVLink. Our own least-squares fit (relative errors) to the latencies that
 * the DistCA project published; tests/bench/h100_fit.py does it again from their two files.
 *
 * Attention (176 points: documents of 64 to 65536 tokens, cp and tp 1 to 8, 64 query and 4 key
 * heads of 128, FlashAttention, forward):
 *     t = 20.03 us + w (2.681 d / cp + 3.076 d + 0.011725 d^2 / 2 cp) ps,  w = 64 x 128 / tp
 * off by 6.1 % on average, 22 % at most; from 8192 tokens up by 3.0 % and 16 %. The squared term is
 * 341 TFLOP/s. The first term is the launch, paid once for all documents of a micro-batch, and left
 * out here; the others are taken at cp = 1.
 *
 * The rest of a layer (16 points, 32768 tokens, cp and tp 1 to 8, forward). Their columns name no
 * shapes; rates of 634 TFLOP/s for QKV and 631 for the MLP say hidden 4096, 8 of 32 heads for keys
 * and a plain (not gated) MLP of 14336 on 32768 tokens. (Two sequences of 32768, as their loader
 * has it, would be 1.3 PFLOP/s, more than an H100 has.)
 *     t = 137 us + FLOPs / tp x 0.0015565 ps + 2 x 12.87 ps x tokens x hidden (tp - 1) / tp
 * off by 3.4 % on average, 6.9 % at most. The second term is 642 TFLOP/s, element-wise work
 * included; the third is the two all-reduces of tensor parallelism. The first is left out again.
 */
#include "cost/device.h"

#include <string.h>

const struct cost_device cost_devices[] = {
    { .name = "h100",
      .max_tp = 8,
      .flop = 0.001556546083,
      .reduced_value = 12.87446712,
      .attention_token = 2.680577273 + 3.076279071,
      .attention_square = 0.01172469403 / 2 },
    { .name = NULL },
};

const struct cost_device *cost_device_find(const char *name)
{
    for (const struct cost_device *device = cost_devices; device->name; device++)
        if (!strcmp(device->name, name))
            return device;
    return NULL;
}
