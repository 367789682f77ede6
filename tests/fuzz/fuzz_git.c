/*
 * Git's configuration, its one-line files and the journal of placeholders. No input may do harm; a
 * place is canonical and, of a relative value, below the folder unless it says otherwise; a note
 * that is taken is written as it was read.
 *
 * An input that begins with "sbx-placeholders" is a note of the journal, with "gitdir: " or "." a
 * link, else a configuration.
 */
#include <string.h>

#include "backends/linux/placeholder.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"
#include "spec/git_config.h"
#include "tests/fuzz/fuzz.h"

#define ARENA_BYTES ((size_t)64 << 20)

static void check_place(struct arena *arena, const char *value)
{
	const char *place = git_place(arena, "/w/.git", value, "/home/p", "/w");

	fuzz_check(!place || path_is_canonical(place));
	fuzz_check(!place || strstr(value, "..") || *value == '/' ||
		   path_is_below(place, "/w/.git"));
}

static void check_list(struct arena *arena, const struct strings *list)
{
	fuzz_check(list->n <= GIT_VALUES_MAX);
	for (size_t i = 0; i < list->n; i++)
		check_place(arena, list->v[i]);
}

static void check_config(struct arena *arena, const char *text, size_t len)
{
	struct sbx_error err = {0};
	struct git_config config;

	if (git_config_parse(arena, text, len, &config, &err) < 0) {
		fuzz_check(err.code == SBX_E_UNSAFE_PATH || err.code == SBX_E_RESOURCE_LIMIT);
		return;
	}
	check_list(arena, &config.hooks_paths);
	check_list(arena, &config.worktrees);
	check_list(arena, &config.includes);
	check_list(arena, &config.submodule_paths);
}

static void check_note(struct arena *arena, const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct placeholder_note note = {.n = 0};

	if (placeholder_note_parse(arena, text, len, &note) < 0)
		return;
	for (size_t i = 0; i < note.n; i++)
		fuzz_check(path_is_canonical(note.v[i].folder) && !strchr(note.v[i].name, '/'));
	placeholder_note_write(&note, &out);
	fuzz_check(out.len == len && memcmp(out.data, text, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char note[] = "sbx-placeholders", link[] = "gitdir: ";
	const char *text = (const char *)data, *value;
	cleanup_arena struct arena arena;

	arena_init(&arena, ARENA_BYTES);
	if (size >= strlen(note) && memcmp(text, note, strlen(note)) == 0) {
		check_note(&arena, text, size);
	} else if (size && (*text == '.' || *text == 'g')) {
		value = git_link_parse(&arena, text, size, *text == 'g' ? link : NULL);
		if (value)
			check_place(&arena, value);
	} else {
		check_config(&arena, text, size);
	}
	return 0;
}
