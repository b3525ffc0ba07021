/* Where a file lies that a configuration names. */
#ifndef BALLAST_CONFIG_BESIDE_H
#define BALLAST_CONFIG_BESIDE_H

/*
 * A relative `path` starts at the directory of the configuration's file and is made absolute; where
 * there is no such file it stays as it is. The caller's to free; NULL when out of memory.
 */
char *path_beside(const char *configuration, const char *path);

#endif
