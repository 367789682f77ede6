/*
 * The state file: what later verbs kill, freeze and remove by. No bytes may do harm; what was
 * accepted has a container's id, pids in range and absolute paths, and is written and read back to
 * the same text.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "runtime/store.h"
#include "spec/json_write.h"
#include "tests/fuzz/fuzz.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define PID_MAX	    4194304

static void check_state(const struct container_state *state)
{
	fuzz_check(store_check_id(state->id, NULL) == 0);
	fuzz_check(state->pid >= 0 && state->pid <= PID_MAX);
	fuzz_check(state->creator_pid >= 0 && state->creator_pid <= PID_MAX);
	fuzz_check(state->bundle[0] == '/' && state->rootfs[0] == '/');
	fuzz_check(state->oci_version[0] && state->created[0] && state->owner);
	fuzz_check(state->cgroup.n <= CGROUP_HIERARCHIES_MAX);
	for (size_t i = 0; i < state->cgroup.n; i++) {
		fuzz_check(path_is_canonical(state->cgroup.v[i].mount));
		fuzz_check(path_is_canonical(state->cgroup.v[i].path));
		fuzz_check(state->cgroup.v[i].path[1]);
	}
	for (size_t i = 0; i < state->annotations.n; i++)
		fuzz_check(state->annotations.v[i].key && state->annotations.v[i].value);
}

static void write_text(const struct container_state *state, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 0);
	state_write(&w, state);
	fuzz_check(!buf_failed(out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf first = BUF_INIT, second = BUF_INIT;
	struct container_state state, again;
	struct sbx_error err = {0};

	arena_init(&arena, ARENA_BYTES);
	if (state_parse(&arena, (const char *)data, size, &state, &err) < 0) {
		fuzz_check(err.code == SBX_E_INVALID_STATE_FILE && err.message[0]);
		return 0;
	}
	check_state(&state);
	write_text(&state, &first);
	fuzz_check(state_parse(&arena, first.data, first.len, &again, &err) == 0);
	write_text(&again, &second);
	fuzz_check(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	return 0;
}
