/* Keys as text, and the files that hold one. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "wire/key.h"

/* RFC 32's example doubled: 40 characters. */
#define KEY "HelloWorldHelloWorldHelloWorldHelloWorld"

static char why[WIRE_KEY_WHY_BYTES];

static int parse(const char *text, enum wire_key_kind kind, char key[WIRE_KEY_BYTES])
{
    memset(key, 0, WIRE_KEY_BYTES);
    *why = '\0';
    return wire_key_parse("f", text, strlen(text), kind, key, why, sizeof why);
}

Test(key, is_forty_characters_of_z85)
{
    cr_expect(wire_key_valid(KEY, 40));
    cr_expect(wire_key_valid("#000000000000000000000000000000000000000", 40) == false,
              "a group over 32 bits");
    cr_expect(wire_key_valid("0000#00000000000000000000000000000000000", 40));
    cr_expect(wire_key_valid("%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0", 40), "2^32 - 1");
    cr_expect_not(wire_key_valid("%nSc1%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0", 40), "2^32");
    cr_expect_not(wire_key_valid(KEY, 39));
    cr_expect_not(wire_key_valid(KEY "0", 41));
    cr_expect_not(wire_key_valid("", 0));
    cr_expect_not(wire_key_valid("HelloWorldHelloWorldHelloWorldHelloWorl ", 40));
    cr_expect_not(wire_key_valid("HelloWorldHelloWorldHelloWorldHelloWorl\0", 40));
    cr_expect_not(wire_key_valid("HelloWorldHelloWorldHelloWorldHelloWor\\d", 40));
    cr_expect_not(wire_key_valid("HelloWorldHelloWorldHelloWorldHelloWor\xffl", 40));
}

Test(key, a_file_has_one_line_besides_comments)
{
    char key[WIRE_KEY_BYTES];
    cr_assert_eq(parse("secret " KEY "\n", WIRE_KEY_SECRET, key), 0, "%s", why);
    cr_assert_str_eq(key, KEY);
    cr_assert_eq(parse("# a comment\n\n \t\r\npublic " KEY " \r\n#\n", WIRE_KEY_PUBLIC, key), 0);
    cr_assert_str_eq(key, KEY);
    cr_assert_eq(parse("public " KEY, WIRE_KEY_PUBLIC, key), 0);
}

Test(key, what_is_no_key_file)
{
    static const char *const texts[] = {
        "",
        "# nothing\n",
        KEY "\n",
        "secret\n",
        "secret  " KEY "\n",
        "secret " KEY "0\n",
        "secret short\n",
        " secret " KEY "\n",
        "Secret " KEY "\n",
        "secret " KEY "\nsecret " KEY "\n",
        "secret " KEY "\nanything\n",
        "secretx" KEY "\n",
    };
    char key[WIRE_KEY_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_expect_eq(parse(texts[i], WIRE_KEY_SECRET, key), EX_CONFIG, "%s", texts[i]);
        cr_expect_str_eq(key, "", "left alone");
        cr_expect_not_null(strstr(why, "'secret KEY'"), "%s", why);
        cr_expect_null(strstr(why, KEY), "what may be a secret is not shown");
    }
}

Test(key, the_halves_are_not_mixed_up)
{
    char key[WIRE_KEY_BYTES];
    cr_expect_eq(parse("secret " KEY "\n", WIRE_KEY_PUBLIC, key), EX_CONFIG);
    cr_expect_not_null(strstr(why, "the other key of a pair"));
    cr_expect_eq(parse("public " KEY "\n", WIRE_KEY_SECRET, key), EX_CONFIG);
    cr_expect_not_null(strstr(why, "the other key of a pair"));
}

static char path[] = "/tmp/ballast-key-XXXXXX";

static int read_with_mode(mode_t mode, const char *text, enum wire_key_kind kind,
                          char key[WIRE_KEY_BYTES])
{
    snprintf(path, sizeof path, "/tmp/ballast-key-XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(fchmod(file, mode), 0);
    close(file);
    memset(key, 0, WIRE_KEY_BYTES);
    int status = wire_key_file_read(path, kind, key, why, sizeof why);
    unlink(path);
    return status;
}

Test(key, a_secret_is_its_owners_alone)
{
    char key[WIRE_KEY_BYTES], command[64];
    cr_assert_eq(read_with_mode(0600, "secret " KEY "\n", WIRE_KEY_SECRET, key), 0, "%s", why);
    cr_assert_str_eq(key, KEY);
    cr_assert_eq(read_with_mode(0400, "secret " KEY "\n", WIRE_KEY_SECRET, key), 0);
    static const mode_t open_to_others[] = { 0640, 0604, 0620, 0602, 0610, 0601, 0644, 0777 };
    for (size_t i = 0; i < sizeof open_to_others / sizeof *open_to_others; i++) {
        cr_expect_eq(read_with_mode(open_to_others[i], "secret " KEY "\n", WIRE_KEY_SECRET, key),
                     EX_CONFIG);
        cr_expect_str_eq(key, "");
        snprintf(command, sizeof command, "chmod 600 %s", path);
        cr_expect_not_null(strstr(why, command), "%s", why);
    }
    cr_assert_eq(read_with_mode(0644, "public " KEY "\n", WIRE_KEY_PUBLIC, key), 0, "%s", why);
}

Test(key, files_that_are_none)
{
    char key[WIRE_KEY_BYTES], fifo[64];
    cr_expect_eq(wire_key_file_read("/nowhere/x", WIRE_KEY_PUBLIC, key, why, sizeof why),
                 EX_NOINPUT);
    cr_expect_not_null(strstr(why, "/nowhere/x"));
    cr_expect_eq(wire_key_file_read("/tmp", WIRE_KEY_PUBLIC, key, why, sizeof why), EX_CONFIG);
    snprintf(fifo, sizeof fifo, "/tmp/ballast-fifo-%ld", (long)getpid());
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    cr_expect_eq(wire_key_file_read(fifo, WIRE_KEY_SECRET, key, why, sizeof why), EX_CONFIG,
                 "and does not wait for a writer");
    unlink(fifo);
}
