/*
 * Processes: identity that survives pid reuse, waiting, signals by number and name.
 */
#ifndef SBX_BASE_PROC_H
#define SBX_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Start time of pid in clock ticks since boot (/proc/PID/stat field 22: proc(5)). 0 or -errno. */
int proc_start_time(pid_t pid, uint64_t *ret_ticks);

/* One letter of /proc/PID/stat field 3 ('R', 'S', 'Z', ...); 0 or -errno. */
int proc_state(pid_t pid, char *ret_state);

/* The process that is its parent now, as our pid namespace has it; 0: one outside. As above. */
int proc_parent(pid_t pid, pid_t *ret_parent);

/* True while the process (pid, start) exists and is no zombie. */
bool proc_is_alive(pid_t pid, uint64_t start_ticks);

/* The same; name becomes what the process, were it a zombie, is called (/proc/PID/stat field 2), ""
 * where that cannot be read. Only kernel threads have names of more than 15 bytes. */
#define PROC_NAME_BYTES 64
bool proc_find(pid_t pid, uint64_t start_ticks, char name[PROC_NAME_BYTES]);

/* pidfd_open(2) of the process (pid, start), checked after the open; -ESRCH when it is another. */
int proc_open_pidfd(pid_t pid, uint64_t start_ticks);

/* pidfd_send_signal(2); kill(2) of pid where the call is missing. 0 or -errno. */
int proc_send_signal(int pidfd, pid_t pid, int sig);

/* Wait (at most 10 s) until a process, not our child, has ended. 0, -ETIMEDOUT or -errno. */
int proc_wait_gone(int pidfd);

/* Wait for our child; exit status as a shell gives it: code, or 128 + signal. -errno on failure. */
int proc_wait(pid_t pid, int *ret_status);

/* "9", "KILL", "SIGKILL", any case, RTMIN, RTMIN+n, RTMAX-n: number 1.._NSIG-1, or -EINVAL. "0" is
 * 0, which kill(2) sends to nobody: it asks whether the process is there. */
int proc_parse_signal(const char *text);

/*
 * From here on a write into a pipe that nobody reads is -EPIPE and one beyond RLIMIT_FSIZE -EFBIG,
 * and no end without a word. By handlers, which execve(2) takes back: what is executed has the
 * default action.
 */
void proc_catch_write_signals(void);

/* Reset every signal to its default action, but for the two above, and the mask to empty. For who
 * executes something later. */
void proc_reset_signals(void);

#endif
