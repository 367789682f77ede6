/*
 * Inside of the view room: what its prepare() finds out on the host, and the steps by which its
 * apply() builds what a container under a profile sees.
 */
#ifndef SBX_LINUX_VIEW_BUILD_H
#define SBX_LINUX_VIEW_BUILD_H

#include <sys/types.h>

#include "backends/linux/mount_table.h"
#include "backends/linux/room.h"

/* A file or folder of the runtime's own that the container's tree would show at path. */
struct view_cover {
	const char *path; /* absolute, inside the container */
	dev_t device;
	ino_t inode;
	bool directory, link;
};

/* What the host's view told, kept in the room's slot. All memory is the plan's arena. */
struct view_facts {
	struct view_cover *covers;
	size_t covers_n;
	struct strings hidden; /* root "/": canonical folders to be empty */
	dev_t host_mqueue;     /* device number of the host's /dev/mqueue, 0: none */
};

/* Fill facts from the host's view: SBX_E_UNSAFE_PATH where a mount would show the runtime's state
 * or settings, or where a root lies in what must be covered. */
int view_facts_gather(const struct run *run, struct view_facts *facts, struct sbx_error *err);

/* path is in a readable root of the profile, or such a root is in it. */
bool view_touches_readable_root(const struct policy *policy, const char *path);

/* destination is a file that engines bind into every container: no folder with sockets. */
bool view_is_single_file(const char *destination);

/* Mounts of the bundle that stay open, each at one place. */
enum stay { STAY_PROC, STAY_DEV, STAY_PTS, STAY_MQUEUE, STAY_SHM, STAY_COUNT };

struct view_stay {
	const char *path, *type;
	unsigned long magic;
};

extern const struct view_stay view_stays[STAY_COUNT];

/* A build in progress. */
struct view_build {
	struct run *run;
	const struct plan *plan;
	const struct view_facts *facts;
	int source_fd; /* the bundle's finished tree */
	int root_fd;   /* the tree that the container gets; source_fd for VIEW_BUNDLE. Not owned */
	int empty_fd;  /* one empty tmpfs, cloned as cover; -EBADF until first needed */
	int *writable; /* one detached clone per writable rule, -EBADF else */
	struct mount_line *lines; /* the mount table, with the bundle's tree finished */
	size_t lines_n;
	struct {
		bool own;	/* there, and made for this container */
		bool read_only; /* by the bundle */
		uint64_t mount_id;
		int fd; /* of the source tree, where own: no path is asked a second time */
	} stays[STAY_COUNT];
};

/* The bundle's last word about what is mounted at path, NULL: nothing. */
const struct plan_mount *view_mount_at(const struct plan *plan, const char *path);

/* It is a new file system of this type. */
bool view_mounts_new(const struct plan *plan, const char *path, const char *type);

/* The mount table, for the two below. */
int view_mounts_read(struct view_build *b, struct sbx_error *err);

/* Every root: it exists, no component is a link, its file system is one that a value may cover, and
 * no writable one is a second name of what is read-only. SBX_E_INVALID_PROFILE or
 * SBX_E_UNSAFE_PATH with the pointer. */
int view_check_roots(const struct view_build *b, struct sbx_error *err);

/* Interfaces of the kernel in the source tree: read-only or hidden, but for the stays, which are
 * found here. SBX_E_UNSAFE_PATH where /proc is no view of the container's own processes, or where
 * somebody moves folders of the tree meanwhile. */
int view_mounts_close(struct view_build *b, struct sbx_error *err);

/* For room_mask: run->mount_fds become the mounts of the finished tree. SBX_E_UNSAFE_PATH where a
 * masked or read-only path would lie in another one than config.json has there. */
int view_mounts_hand_over(struct view_build *b, struct sbx_error *err);

/* The mount at fd is hidden: what was to be masked in it is no more. */
void view_mounts_forget(struct view_build *b, int fd);

/* A stay in the container's tree: O_PATH of its mount. */
int view_stay_open(const struct view_build *b, enum stay stay);

/* fd lies on the mount of the container's root itself. */
bool view_is_on_root(const struct view_build *b, int fd);

/* Under "host read deny": what the bundle binds from the host into a folder of the closure, into
 * /dev or /sys is hidden, but for single files that engines bind and for what a readable root
 * shows. */
int view_mounts_hide_binds(struct view_build *b, struct sbx_error *err);

/* Hide what fd (a folder or a file of the source tree) stands on. 0 or -errno. */
int view_hide(struct view_build *b, int fd);

/* Own files and, for the host's root, private folders: covered in the source tree. */
int view_cover_files(struct view_build *b, struct sbx_error *err);

/* A new root with the closure, the roots and the container's own /dev, /proc, /sys. */
int view_build_closure(struct view_build *b, struct sbx_error *err);

/* Read-only but for what may be written, no devices but the harmless ones. */
int view_set_writable(struct view_build *b, struct sbx_error *err);

/* fd, at path, is a /dev/shm of somebody else's that view_set_writable() replaces by an own one. */
bool view_replaces_shm(const struct view_build *b, const char *path, int fd);

/* The scratch folder and HOME in it. */
int view_mount_scratch(struct view_build *b, struct sbx_error *err);

/* A detached clone of path (absolute, no link in it) of the tree at tree_fd, with all mounts below;
 * -ENOENT, -ELOOP or another -errno. */
int view_clone(int tree_fd, const char *path);

/* An O_PATH descriptor of path (absolute) below tree_fd, no link followed in any component. */
int view_open(int tree_fd, const char *path);

/* Attach mount_fd at path of the container's tree, the target made as a folder or an empty file
 * where it is missing. */
int view_attach(struct view_build *b, int mount_fd, const char *path, bool directory,
		struct sbx_error *err);

#endif
