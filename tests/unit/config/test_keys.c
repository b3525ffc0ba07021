/* The table of keys and the schema say the same. */
#include <criterion/criterion.h>
#include <string.h>

#include "config/document.h"
#include "config/keys.h"
#include "config/schema.h"

static void expect_rules(const cyaml_schema_value_t *value, const char *path, size_t *count)
{
    char below[DOCUMENT_PATH_BYTES + 32];
    if (*path) {
        ++*count;
        cr_expect_not_null(key_rule_find(path), "no rule for %s", path);
    }
    if (value->type == CYAML_SEQUENCE) {
        snprintf(below, sizeof below, "%s[]", path);
        expect_rules(value->sequence.entry, below, count);
    }
    if (value->type != CYAML_MAPPING)
        return;
    for (const cyaml_schema_field_t *field = value->mapping.fields; field->key; field++) {
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", field->key);
        expect_rules(&field->value, below, count);
    }
}

Test(config_keys, every_key_of_the_schema_has_one_rule)
{
    size_t accepted = 0, rules = 0;
    expect_rules(&config_schema, "", &accepted);
    while (key_rules[rules].path)
        rules++;
    cr_expect_eq(rules, accepted);
}

Test(config_keys, rules_suit_the_types)
{
    for (const struct key_rule *rule = key_rules; rule->path; rule++) {
        const cyaml_schema_value_t *value = schema_find(rule->path);
        cr_assert_not_null(value, "%s", rule->path);
        cr_expect_eq(rule->max > 0,
                     value->type == CYAML_UINT ||
                         (value->type == CYAML_ENUM && !(value->flags & CYAML_FLAG_STRICT)),
                     "%s", rule->path);
        cr_expect_eq(rule->most > 0, value->type == CYAML_FLOAT, "%s", rule->path);
        cr_expect_leq(rule->min, rule->max, "%s", rule->path);
    }
}

Test(config_keys, find_takes_any_index)
{
    cr_expect_str_eq(key_rule_find("sources[17].paths[3]")->path, "sources[].paths[]");
    cr_expect_str_eq(key_rule_find("sources[].weight")->path, "sources[].weight");
    cr_expect_null(key_rule_find("sources"
                                 "[1].wait"));
    cr_expect_null(key_rule_find("sources[1"));
    cr_expect_null(key_rule_find(""));
}
