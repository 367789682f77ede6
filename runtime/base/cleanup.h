/*
 * Ownership by attribute: a variable declared with cleanup_X releases what it holds when it goes
 * out of scope; take_fd() and take_ptr() move the value out. A closed descriptor is -EBADF.
 */
#ifndef SBX_BASE_CLEANUP_H
#define SBX_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -EBADF;
	errno = saved;
}

static inline void cleanup_free_ptr(void *ptr)
{
	void **p = ptr;

	free(*p);
	*p = NULL;
}

static inline void cleanup_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
	*dir = NULL;
}

static inline void cleanup_close_file(FILE **file)
{
	if (*file)
		fclose(*file);
	*file = NULL;
}

#define cleanup_fd   __attribute__((cleanup(cleanup_close_fd)))
#define cleanup_free __attribute__((cleanup(cleanup_free_ptr)))
#define cleanup_dir  __attribute__((cleanup(cleanup_close_dir)))
#define cleanup_file __attribute__((cleanup(cleanup_close_file)))

static inline int take_fd(int *fd)
{
	int moved = *fd;

	*fd = -EBADF;
	return moved;
}

#define take_ptr(ptr)                                                                              \
	__extension__({                                                                            \
		__typeof__(ptr) moved_ = (ptr);                                                    \
		(ptr) = NULL;                                                                      \
		moved_;                                                                            \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
