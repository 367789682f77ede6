/*
 * Paths inside a tree that its owner may change at any moment (a container's root filesystem).
 *
 * Every function takes the descriptor of the tree's root and resolves with
 * openat2(2) RESOLVE_IN_ROOT|RESOLVE_NO_MAGICLINKS; where that system call is missing (ENOSYS), a
 * walk component by component with O_PATH|O_NOFOLLOW does the same, symbolic links expanded by us
 * and ".." bounded by the root. What is returned is a descriptor, never a path.
 */
#ifndef SBX_BASE_PATH_H
#define SBX_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PATH_DEPTH_MAX	  255 /* components of one path */
#define PATH_SYMLINKS_MAX 40  /* as the kernel's MAXSYMLINKS */

/* Open path inside the tree with flags (O_CLOEXEC is added). Returns a descriptor or -errno. */
int path_open_in_root(int root_fd, const char *path, int flags, mode_t mode);

/*
 * As above for a path that crosses no mount on its way nor at its end (RESOLVE_NO_XDEV): what it
 * gives lies on the mount of root_fd. -EXDEV where there is one, or where openat2(2) is missing.
 */
int path_open_in_root_mount(int root_fd, const char *path, int flags);

/* As path_open_in_root(); a symbolic link as the last component is not followed (O_PATH gives the
 * link). */
int path_open_in_root_nofollow(int root_fd, const char *path, int flags);

/*
 * Open path without following any symbolic link in any component, magic or not
 * (RESOLVE_NO_SYMLINKS); -ELOOP when there is one. dirfd may be AT_FDCWD with an absolute path.
 */
int path_open_no_symlinks(int dirfd, const char *path, int flags);

/*
 * Make the directory path inside the tree with its missing parents, each mkdirat(2) on its parent's
 * descriptor, mode dir_mode; existing components are followed inside the root. Behind one that was
 * made only names follow: -ENOENT at "..", -ELOOP at a link. Returns an O_PATH descriptor of the
 * directory or -errno (-ENOTDIR where a component is no directory).
 */
int path_make_dirs_in_root(int root_fd, const char *path, mode_t dir_mode);

/*
 * Open the regular-file (or other non-directory) mount target path, created empty with file_mode
 * and missing parents 0755 where absent. Returns an O_PATH descriptor or -errno.
 */
int path_make_file_in_root(int root_fd, const char *path, mode_t file_mode);

/*
 * The parent directory of path inside the tree (made where missing) and its last component in
 * name (size bytes). Returns an O_PATH descriptor or -errno; -EINVAL for "/" or a last "..".
 */
int path_open_parent_in_root(int root_fd, const char *path, char *name, size_t size);

/* Absolute, no ".", "..", "//", no trailing slash (but "/"), shorter than PATH_MAX. */
bool path_is_canonical(const char *path);

/* path is tree or lies below it; both canonical. "/a" does not contain "/ab". */
bool path_is_below(const char *path, const char *tree);

/* Lexical normalisation into out (size bytes): joins "//", drops ".", resolves ".." against the
 * front, always absolute. -ENAMETOOLONG. For mount destinations, whose links are resolved later. */
int path_normalize(const char *path, char *out, size_t size);

#endif
