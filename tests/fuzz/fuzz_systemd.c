/*
 * Texts that a bundle gives to the systemd cgroup manager: the first line is a cgroupsPath, the
 * second the name and the third the value of a property. What is accepted are names that systemd
 * has, and one JSON object with a type and a value of it.
 */
#include <string.h>

#include "backends/linux/cgroup/systemd.h"
#include "runtime/base/cleanup.h"
#include "spec/json_write.h"
#include "tests/fuzz/fuzz.h"

#define ARENA_BYTES ((size_t)16 << 20)

static const char *next_line(char **rest)
{
	char *line = strsep(rest, "\n");

	return line ? line : "";
}

static void check_names(struct arena *arena, const char *given)
{
	const char *slice, *unit;
	char path[512];

	if (systemd_names(arena, given, "id", false, &slice, &unit, NULL) < 0)
		return;
	fuzz_check(systemd_is_scope(unit) && !strchr(unit, '/') && !strchr(slice, '/'));
	if (systemd_slice_path(slice, path, sizeof(path)) == 0)
		fuzz_check((path[0] == '/' || strcmp(slice, "-.slice") == 0) &&
			   !strstr(path, "//"));
}

static void check_value(struct arena *arena, const char *name, const char *text)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct json_node *root;
	const struct json_node *type, *value;
	struct json_writer w;
	struct sbx_error err = {0};

	json_writer_init(&w, &out, 0);
	if (systemd_value_write(&w, name, text, &err) < 0) {
		fuzz_check(err.code == SBX_E_INVALID_CONFIG && out.len == 0);
		return;
	}
	/* texts that are no UTF-8 are written as what is */
	fuzz_check(json_parse(arena, "property", out.data, out.len, &json_limits_profile, &root,
			      NULL) == 0);
	type = json_get(root, "type");
	value = json_get(root, "value");
	fuzz_check(type && value && type->len == 1 + (size_t)(value->type == JSON_ARRAY));
	fuzz_check(strspn(type->text, "abdinqstuxy") == type->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena;
	const char *name;
	char *rest;

	arena_init(&arena, ARENA_BYTES);
	rest = arena_strndup(&arena, (const char *)data, size);
	if (!rest)
		return 0;
	check_names(&arena, next_line(&rest));
	name = next_line(&rest);
	check_value(&arena, name, rest ? rest : "");
	return 0;
}
