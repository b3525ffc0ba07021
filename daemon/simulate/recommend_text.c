#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "simulate/recommend.h"

#define NAME_BYTES 96

/* Of the packings, which were all tried with one sharding, the fastest that is `wanted`, or NULL.
 */
static const struct trial *fastest(const struct recommendation *recommendation,
                                   bool (*wanted)(const struct trial *, const struct trial *))
{
    const struct trial *best = &recommendation->trials[recommendation->packing], *found = NULL;
    for (size_t i = 0; i < recommendation->packings; i++) {
        const struct trial *trial = &recommendation->trials[i];
        if (wanted(trial, best) && (!found || trial->gain > found->gain))
            found = trial;
    }
    return found;
}

static bool another_policy(const struct trial *trial, const struct trial *best)
{
    return strcmp(trial->setting.policy, best->setting.policy) != 0;
}

static bool longer(const struct trial *trial, const struct trial *best)
{
    return trial->setting.max_sequence_length > best->setting.max_sequence_length;
}

static bool shorter(const struct trial *trial, const struct trial *best)
{
    return trial->setting.max_sequence_length < best->setting.max_sequence_length;
}

static void say_choice(FILE *file, const struct recommendation *recommendation)
{
    const struct trial *best = &recommendation->trials[recommendation->best];
    const struct trial *plain = &recommendation->plain;
    char name[NAME_BYTES];
    fprintf(file,
            "%s with micro-batches of at most %" PRIu32 " tokens is predicted to do its work "
            "%.3f times as fast as plain packing with per-sequence sharding (%.3f times the tokens "
            "a second: plain cuts documents, which saves attention): the imbalance of "
            "micro-batches goes "
            "from %.3f to %.3f, and a token waits %.2f steps on average",
            setting_name(&best->setting, name, sizeof name), best->setting.max_sequence_length,
            best->gain, best->speedup, plain->imbalance, best->imbalance, best->delay);
    fputs(". ", file);
}

/* What other packings would have given. */
static void say_others(FILE *file, const struct recommendation *recommendation,
                       const struct config *config)
{
    const struct trial *packing = &recommendation->trials[recommendation->packing];
    const struct trial *other = fastest(recommendation, another_policy);
    const struct trial *more = fastest(recommendation, longer);
    const struct trial *less = fastest(recommendation, shorter);
    char name[NAME_BYTES];
    fprintf(file, "With sharding %s it reaches %.3f", cp_strategy_name(packing->setting.sharding),
            packing->gain);
    if (other)
        fprintf(file, "; the best of another policy, %s, %.3f with a delay of %.2f",
                setting_name(&other->setting, name, sizeof name), other->gain, other->delay);
    if (less)
        fprintf(file, "; shorter micro-batches, of at most %" PRIu32 ", %.3f with a delay of %.2f",
                less->setting.max_sequence_length, less->gain, less->delay);
    if (more)
        fprintf(file, "; longer micro-batches, of at most %" PRIu32 ", %.3f with a delay of %.2f",
                more->setting.max_sequence_length, more->gain, more->delay);
    else
        fprintf(file, "; longer micro-batches are not permitted: max_sequence_length is %" PRIu32,
                config->max_sequence_length);
    fputs(". ", file);
}

static void say_sharding(FILE *file, const struct recommendation *recommendation)
{
    const struct trial *best = &recommendation->trials[recommendation->best];
    if (recommendation->count == recommendation->packings) {
        fputs("With one CP rank, sharding makes no difference.", file);
        return;
    }
    fprintf(file, "Sharding %s leaves the busiest CP rank %.3f times an even share of attention",
            cp_strategy_name(best->setting.sharding), best->busiest_over_ideal);
    for (size_t i = recommendation->packings; i < recommendation->count; i++) {
        const struct trial *trial = &recommendation->trials[i];
        if (trial->setting.sharding != best->setting.sharding)
            fprintf(file, ", %s %.3f", cp_strategy_name(trial->setting.sharding),
                    trial->busiest_over_ideal);
    }
    fputs(".", file);
}

static const char what_for[] = "writing a recommendation";

int recommendation_why(const struct recommendation *recommendation, const struct config *config,
                       char **ret_text, struct error *err)
{
    struct text text;
    int status = text_open(&text, what_for, err);
    if (status)
        return status;
    FILE *file = text.file;
    say_choice(file, recommendation);
    say_others(file, recommendation, config);
    say_sharding(file, recommendation);
    return text_close(&text, what_for, ret_text, NULL, err);
}

int recommendation_yaml(const struct recommendation *recommendation, char **ret_text,
                        struct error *err)
{
    const struct setting *setting = &recommendation->trials[recommendation->best].setting;
    struct text text;
    int status = text_open(&text, what_for, err);
    if (status)
        return status;
    FILE *file = text.file;
    fprintf(file, "max_sequence_length: %" PRIu32 "\npacking:\n  policy: %s\n",
            setting->max_sequence_length, setting->policy);
    for (unsigned i = 0; i < setting->threshold_count; i++)
        fprintf(file, "%s%" PRIu64 "%s", i ? ", " : "  outlier_thresholds: [",
                setting->thresholds[i], i + 1 == setting->threshold_count ? "]\n" : "");
    if (setting_balances(setting))
        fprintf(file, "  balance: %g\n", setting->balance);
    fprintf(file, "sharding:\n  strategy: %s\n", cp_strategy_name(setting->sharding));
    return text_close(&text, what_for, ret_text, NULL, err);
}
