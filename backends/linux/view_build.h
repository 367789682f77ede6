/*
 * Inside of the view room: what its prepare() finds out on the host, and the steps by which its
 * apply() builds what a container under a profile sees.
 */
#ifndef SBX_LINUX_VIEW_BUILD_H
#define SBX_LINUX_VIEW_BUILD_H

#include <errno.h>
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
};

/* Fill facts from the host's view: SBX_E_UNSAFE_PATH where a mount would show the runtime's state
 * or settings, or where a root lies in what must be covered. */
int view_facts_gather(const struct run *run, struct view_facts *facts, struct sbx_error *err);

/* The part of it for the host's own root: which folders are to be empty. */
int view_hidden_gather(const struct plan *plan, struct view_facts *facts, struct sbx_error *err);

/* destination is a file that engines bind into every container: no folder with sockets. */
bool view_is_single_file(const char *destination);

/* Mounts of the bundle that stay open, each at one place. */
enum stay { STAY_PROC, STAY_DEV, STAY_PTS, STAY_MQUEUE, STAY_SHM, STAY_COUNT };

struct view_stay {
	const char *path, *type;
	unsigned long magic;
};

extern const struct view_stay view_stays[STAY_COUNT];

/* What a place shows: a folder of a file system. */
struct view_shown {
	const struct mount_line *line; /* NULL: a mount that was made after the table was read */
	const char *folder;
};

/* A root of the profile: what the name stood for when it was checked, and no second look-up. */
struct view_root {
	int fd;		/* O_PATH, in the source tree */
	int clone;	/* of fd, detached, where it may be written; -EBADF */
	bool recursive; /* the clone has the mounts below */
	struct view_shown shows;
};

/* A part of the container's tree. */
struct view_part {
	int fd;			 /* O_PATH of the folder in the source tree */
	const char *place;	 /* its name */
	struct view_shown shows; /* its folder */
	bool is_root;		 /* of the profile; else of the closure, or a file system's */
	bool writable, narrow;	 /* writable, but what is on the container's root is not */
	bool recursive;		 /* the clone has the mounts below already */
};

/* A build in progress. */
struct view_build {
	struct run *run;
	const struct plan *plan;
	const struct view_facts *facts;
	int source_fd; /* the bundle's finished tree */
	int root_fd;   /* the tree that the container gets; source_fd for VIEW_BUNDLE. Not owned */
	int empty_fd;  /* one empty tmpfs, cloned as cover; -EBADF until first needed */
	bool covered;  /* something was mounted since the table was read first */
	struct mount_table checked; /* the mounts with the bundle's tree finished */
	struct mount_table table;   /* the same with the covers */
	struct view_root *roots;    /* one for each rule of the policy */
	dev_t *devices;		    /* of our own, empty file systems */
	size_t devices_n, devices_max;
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

/* Read the mount table: before any cover, and after all of them. */
int view_mounts_read(struct view_build *b, struct sbx_error *err);

/* What fd, opened at path (inside the container), shows. -ENOENT: nothing below the root. */
int view_shown_by(const struct view_build *b, int fd, const char *path, struct view_shown *ret);

/* The mount that fd lies on; NULL: made after the table was read. */
const struct mount_line *view_line_of(const struct view_build *b, int fd);

/* A mount point below the container's root as the container will see it; NULL: it is elsewhere. */
const char *view_path_inside(const struct view_build *b, const char *point);

/* The file system is one of files, which the values of a profile cover. */
bool view_holds_files(const struct mount_line *line);

/* SBX_E_UNSAFE_PATH: another program moved what was at path meanwhile. */
int view_fail_moved(const char *path, struct sbx_error *err);

/*
 * Make rules of what the profile protects, as it is in the source tree: @git's names, and
 * placeholders for what is absent. b->plan is a copy with them from here on. SBX_E_UNSAFE_PATH,
 * SBX_E_UNSUPPORTED, SBX_E_RESOURCE_LIMIT.
 */
int view_protect(struct view_build *b, struct sbx_error *err);

/* Before the clone, for it: run->protected_paths. */
int view_protect_prepare(struct run *run, struct sbx_error *err);

/* Open every root: it exists, no component is a link, its file system is one that a value may
 * cover, no writable one is a second name of what is read-only, and no mount of the bundle comes
 * into one by a link. SBX_E_INVALID_PROFILE or SBX_E_UNSAFE_PATH with the pointer. */
int view_roots_open(struct view_build *b, struct sbx_error *err);

/* After all covers are in place: open the roots again where covers may stand on the way, and clone
 * the writable ones, before anything becomes read-only. */
int view_roots_clone(struct view_build *b, struct sbx_error *err);

/* Root number n as a part. */
struct view_part view_root_part(const struct view_build *b, size_t n);

void view_roots_close(struct view_build *b);

/* A detached clone of the part's folder; says in it what it shows, and whether the kernel takes it
 * only with the mounts below: those that a more privileged namespace made (mount_namespaces(7)). */
int view_part_clone(const struct view_build *b, struct view_part *part, struct sbx_error *err);

/* The mounts that belong below the part, to where its clone is attached, target_fd.
 * SBX_E_UNSAFE_PATH where another program moves folders meanwhile. */
int view_part_fill(struct view_build *b, const struct view_part *part, int target_fd,
		   struct sbx_error *err);

/* A detached tmpfs of our own. -errno. */
int view_new_tmpfs(struct view_build *b, const char *source, const char *options, uint64_t attrs);

/* Interfaces of the kernel in the source tree: read-only or hidden, but for the stays, which are
 * found here. SBX_E_UNSAFE_PATH where /proc is no view of the container's own processes, or where
 * somebody moves folders of the tree meanwhile. */
int view_mounts_close(struct view_build *b, struct sbx_error *err);

/* For room_mask: run->mount_fds become the mounts of the finished tree. SBX_E_UNSAFE_PATH where a
 * masked or read-only path would lie in another one than config.json has there. */
int view_mounts_hand_over(struct view_build *b, struct sbx_error *err);

/* The line of mount i of config.json; NULL: it was not made, or is not listed. */
const struct mount_line *view_line_of_plan(const struct view_build *b, size_t i);

/* fd is the root of a mount that shows the same folder of the same file system: a clone does. */
bool view_is_mount_of(int fd, int original);

/* The mount at fd is hidden: what was to be masked in it is no more. */
void view_mounts_forget(struct view_build *b, int fd);

/* A stay in the container's tree: O_PATH of its mount. */
int view_stay_open(const struct view_build *b, enum stay stay);

/* fd lies on the mount of the container's root itself. */
bool view_is_on_root(const struct view_build *b, int fd);

/* Under "host read deny": what fd, opened for path, stands on is a bind of the bundle that is not
 * shown, unlike single files that engines bind and what a readable root shows. */
bool view_is_hidden_bind(const struct view_build *b, int fd, const char *path);

/* SBX_E_UNSAFE_PATH: "/dev" itself would be one. */
int view_check_dev(const struct view_build *b, struct sbx_error *err);

/* line's mount is not found at path below fd: another one covers that or a folder above, and
 * nobody reaches it. False: it, or what it is mounted on, was moved. */
bool view_is_covered(const struct view_build *b, int fd, const struct mount_line *line,
		     const char *path);

/* Hide what fd (a folder or a file of the source tree) stands on. 0 or -errno. */
int view_hide(struct view_build *b, int fd);

/* Own files and, for the host's root, private folders: covered in the source tree. */
int view_cover_files(struct view_build *b, struct sbx_error *err);

/* Before anything covers a mount of the bundle: no object that the profile closes inside of what it
 * opens has another name in the container. SBX_E_UNSAFE_PATH with the pointer. */
int view_carve_check(const struct view_build *b, struct sbx_error *err);

/* What of the place around it rule n closes. */
struct view_bounds {
	bool read, write;
};
struct view_bounds view_carve_closes(const struct policy *policy, size_t n);

/* In the container's tree, root_fd: carve-out n is closed. */
bool view_carve_stands(const struct plan *plan, int root_fd, size_t n);

/* In the container's tree, root_fd: carve-out n is found closed (0), or closed again (1). -ENOENT:
 * nothing has its name. What may not be read is not closed again (-ENOTSUP), and neither is a file
 * with a second link (-EMLINK). */
int view_carve_again(const struct plan *plan, int root_fd, size_t n);

/* Close these objects, in the source tree. SBX_E_UNSAFE_PATH where another program moves one. */
int view_carve(struct view_build *b, struct sbx_error *err);

/* Make a mount of each folder above path (of the source tree) that the payload may rename. */
int view_pin_parents(const struct view_build *b, const char *path);

/* Hide the root that target stands on, but for the readable roots below it. 0 or -errno. */
int view_close_root(struct view_build *b, int target, const char *path);

/* A new root with the closure, the roots and the container's own /dev, /proc, /sys. */
int view_build_closure(struct view_build *b, struct sbx_error *err);

/* Read-only but for what may be written, no devices but the harmless ones. */
int view_set_writable(struct view_build *b, struct sbx_error *err);

/* fd, at path, is a /dev/shm of somebody else's that view_set_writable() replaces by an own one. */
bool view_replaces_shm(const struct view_build *b, const char *path, int fd);

/* The scratch folder and HOME in it. */
int view_mount_scratch(struct view_build *b, struct sbx_error *err);

/* An O_PATH descriptor of path (absolute) below tree_fd, no link followed in any component. */
int view_open(int tree_fd, const char *path);

/* What view_open() says where a path has nothing, or a link on the way. */
static inline bool view_is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
}

#endif
