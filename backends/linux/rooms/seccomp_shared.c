/*
 * What the floor refuses on top where a container shares its namespaces with the host (rung 2).
 *
 * A namespace would leave nothing to be named: other processes' limits, the host's queues and
 * shared memory, sockets on its paths. Without one the names are there, so the calls that take them
 * are refused. connect(2) and sendto(2) cannot be looked at (the address is in memory), so a socket
 * that could reach a path is not made; a pair of datagram sockets is such a one.
 */
#include <linux/ioprio.h>
#include <sys/resource.h>

#include "backends/linux/seccomp_filters.h"
#include "backends/linux/seccomp_table.h"
#include "runtime/base/cleanup.h"

#define NONE FLOOR_NONE

const struct floor_row floor_shared_rows[] = {
	/* System V IPC and message queues: their names are the host's */
	{"shmget", 29, 395, 194, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"shmat", 30, 397, 196, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"shmctl", 31, 396, 195, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"semget", 64, 393, 190, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"semop", 65, NONE, 193, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"semctl", 66, 394, 191, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"semtimedop", 220, NONE, 192, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"semtimedop_time64", NONE, 420, NONE, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"msgget", 68, 399, 186, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"msgsnd", 69, 400, 189, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"msgrcv", 70, 401, 188, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"msgctl", 71, 402, 187, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"mq_open", 240, 277, 180, NONE, ANSWER_REFUSE, 0, 0, 0},
	{"mq_unlink", 241, 278, 181, NONE, ANSWER_REFUSE, 0, 0, 0},
	/* limits and priorities of other processes */
	{"prlimit64", 302, 340, 261, NONE, ANSWER_OTHERS, 0, 0, 0},
	{"setpriority", 141, 97, 140, NONE, ANSWER_OTHERS_OF, 1, PRIO_PROCESS, 0},
	{"ioprio_set", 251, 289, 30, NONE, ANSWER_OTHERS_OF, 1, IOPRIO_WHO_PROCESS, 0},
	{"sched_setparam", 142, 154, 118, NONE, ANSWER_OTHERS, 0, 0, 0},
	{"sched_setscheduler", 144, 156, 119, NONE, ANSWER_OTHERS, 0, 0, 0},
	{"sched_setaffinity", 203, 241, 122, NONE, ANSWER_OTHERS, 0, 0, 0},
	{"sched_setattr", 314, 351, 274, NONE, ANSWER_OTHERS, 0, 0, 0},
	/* sockets, and what file systems do by ioctl without asking Landlock (subvolumes, flags) */
	{"ioctl", 16, 54, 29, 514, ANSWER_SHARED_IOCTL, 1, 0, 0},
	{"socket", 41, 359, 198, NONE, ANSWER_INET_SOCKET, 0, 0, 0},
	{"socket", 41, 359, 198, NONE, ANSWER_NO_FAMILY, 0, 0, FLOOR_NO_NETWORK},
	{"socketpair", 53, 360, 199, NONE, ANSWER_STREAM_PAIR, 0, 0, 0},
	/* what Landlock does not see of writing */
	{"chmod", 90, 15, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fchmod", 91, 94, 52, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fchmodat", 268, 306, 53, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fchmodat2", 452, 452, 452, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"chown", 92, 182, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fchown", 93, 95, 55, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"lchown", 94, 16, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fchownat", 260, 298, 54, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"chown32", NONE, 212, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fchown32", NONE, 207, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"lchown32", NONE, 198, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"utime", 132, 30, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"utimes", 235, 271, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"futimesat", 261, 299, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"utimensat", 280, 320, 88, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"utimensat_time64", NONE, 412, NONE, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"setxattr", 188, 226, 5, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"lsetxattr", 189, 227, 6, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fsetxattr", 190, 228, 7, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"setxattrat", 463, 463, 463, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"removexattr", 197, 235, 14, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"lremovexattr", 198, 236, 15, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"fremovexattr", 199, 237, 16, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"removexattrat", 466, 466, 466, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	{"file_setattr", 469, 469, 469, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_METADATA},
	/* and of reading: names in folders */
	{"inotify_add_watch", 254, 292, 27, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_WATCHING},
	{"fanotify_mark", 301, 339, 263, NONE, ANSWER_REFUSE, 0, 0, FLOOR_NO_WATCHING},
};
const size_t floor_shared_rows_n = ARRAY_SIZE(floor_shared_rows);
