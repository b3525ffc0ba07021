#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl/atomic_file.h"
#include "support/temp_dir.h"

static size_t entries(const struct temp_dir *dir)
{
    DIR *open = opendir(dir->path);
    cr_assert_not_null(open);
    size_t count = 0;
    while (readdir(open))
        count++;
    closedir(open);
    return count - 2; /* . and .. */
}

Test(atomic_file, writes_and_replaces)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "tokens", path);
    struct error err = { 0 };
    cr_assert_eq(atomic_file_write(path, "first", 5, &err), 0, "%s", err.text);
    cr_assert_eq(atomic_file_write(path, "2nd", 3, &err), 0, "%s", err.text);
    size_t count;
    unsigned char *bytes = file_read_all(path, &count);
    cr_assert_eq(count, 3);
    cr_assert_eq(memcmp(bytes, "2nd", 3), 0);
    free(bytes);
    cr_assert_eq(entries(&dir), 1, "no temporary file is left");
    temp_dir_remove(&dir);
}

Test(atomic_file, an_empty_file_is_a_file)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    struct error err = { 0 };
    cr_assert_eq(atomic_file_write(temp_path(&dir, "empty", path), "", 0, &err), 0);
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_size, 0);
    temp_dir_remove(&dir);
}

Test(atomic_file, permissions_follow_the_umask)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    struct error err = { 0 };
    mode_t before = umask(027);
    cr_assert_eq(atomic_file_write(temp_path(&dir, "f", path), "x", 1, &err), 0);
    umask(before);
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0640);
    temp_dir_remove(&dir);
}

Test(atomic_file, refusals_name_the_path_and_leave_nothing)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES], expected[2 * TEMP_PATH_BYTES];
    struct error err = { 0 };
    cr_assert_eq(atomic_file_write(temp_path(&dir, "no/f", path), "x", 1, &err), EX_CANTCREAT);
    snprintf(expected, sizeof expected, "%s: cannot create a file there: No such file or directory",
             path);
    cr_assert_str_eq(err.text, expected);
    cr_assert_eq(atomic_file_write(dir.path, "x", 1, &err), EX_CANTCREAT);
    cr_assert_eq(entries(&dir), 0);
    temp_dir_remove(&dir);
}

Test(atomic_file, a_device_is_written_in_place)
{
    struct error err = { 0 };
    cr_assert_eq(atomic_file_write("/dev/null", "x", 1, &err), 0, "%s", err.text);
    cr_assert_eq(atomic_file_write("/dev/full", "x", 1, &err), EX_IOERR);
    cr_assert_str_eq(err.text, "/dev/full: cannot write: No space left on device");
}

Test(atomic_file, create_never_replaces)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    temp_path(&dir, "key", path);
    struct error err = { 0 };
    struct stat status;
    mode_t mask = umask(0);
    cr_assert_eq(atomic_file_create(path, "one", 3, 0600, &err), 0, "%s", err.text);
    umask(mask);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 07777, 0600);
    cr_assert_eq(atomic_file_create(path, "other", 5, 0600, &err), EX_CANTCREAT);
    size_t count;
    unsigned char *bytes = file_read_all(path, &count);
    cr_assert_eq(count, 3);
    free(bytes);
    cr_assert_eq(entries(&dir), 1, "no temporary file is left");
    temp_dir_remove(&dir);
}
