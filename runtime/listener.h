/* The seccomp agent of a bundle (config-linux.md#the-container-process-state). */
#ifndef SBX_RUNTIME_LISTENER_H
#define SBX_RUNTIME_LISTENER_H

#include <sys/types.h>

#include "runtime/base/error.h"

/*
 * sequence_events.listener: send the notification descriptor to the socket at listenerPath, with
 * the container process state as its text; the state's status is "creating", of exec "running". pid
 * is the process's as the runtime sees it: with a filter that exec installs before it forks
 * (without noNewPrivileges), that of the process in between.
 */
int listener_pass(void *container, int fd, pid_t pid, struct sbx_error *err);

#endif
