/*
 * A procfs that nobody else can mount over.
 *
 * Writes to /proc/PID/... decide labels, maps and sysctls, so they must not go through a /proc that
 * an image or a volume may have shadowed (CVE-2019-16884, CVE-2025-52881). The handle is a detached
 * instance: fsopen("proc") + fsmount(2); where that is refused, open_tree(2) without recursion of
 * /proc; last, /proc itself after statfs(2) says PROC_SUPER_MAGIC and its root inode is 1.
 * Opens below it never cross a mount and never follow a symbolic link (but see _magic).
 */
#ifndef SBX_BASE_PROCFS_H
#define SBX_BASE_PROCFS_H

/* Descriptor of a procfs root for the caller's pid namespace, or -errno. Never /proc/sys-less. */
int procfs_open_root(void);

/* Open NAME (relative, "self/attr/exec", "sys/net/ipv4/ip_forward") below proc_fd with flags. */
int procfs_open(int proc_fd, const char *name, int flags);

/* Open a magic link as what it points to ("self/ns/net", "PID/root"); only names of our own. */
int procfs_open_magic(int proc_fd, const char *name, int flags);

/* Write a short value in one write(2). 0 or -errno. */
int procfs_write(int proc_fd, const char *name, const char *value);

#endif
