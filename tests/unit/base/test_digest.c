#include <criterion/criterion.h>

#include "base/digest.h"

static const struct digest zero;

Test(digest, golden)
{
    char text[DIGEST_TEXT_BYTES];
    struct digest digest = digest_chain(zero, "ballast", 7);
    cr_assert_str_eq(digest_text(digest, text), "f0228114bd7d61d146156c8733b5b7f4",
                     "a digest that changes breaks every checkpoint: %s", text);
}

Test(digest, depends_on_previous_and_on_content)
{
    struct digest a = digest_chain(zero, "a", 1), b = digest_chain(zero, "b", 1);
    cr_assert(!digest_equal(a, b));
    cr_assert(!digest_equal(digest_chain(a, "c", 1), digest_chain(b, "c", 1)));
    cr_assert(digest_equal(digest_chain(a, "c", 1), digest_chain(a, "c", 1)));
}

Test(digest, empty_link_still_moves_the_chain)
{
    struct digest once = digest_chain(zero, NULL, 0);
    cr_assert(!digest_equal(once, zero));
    cr_assert(!digest_equal(digest_chain(once, NULL, 0), once));
}
