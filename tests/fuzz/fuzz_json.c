/*
 * spec/json and spec/json_write: no input may do harm, and what was accepted is written and read
 * back to the same tree.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/text.h"
#include "spec/json_write.h"
#include "tests/fuzz/fuzz.h"

#define ARENA_BYTES ((size_t)64 << 20)

static const struct json_limits limits = {
	.max_bytes = 1 << 20, .max_depth = 64, .max_values = 100000, .max_string_bytes = 1 << 16};

static void check_text(const char *text, size_t len)
{
	fuzz_check(strlen(text) == len);
	for (size_t n; len > 0; text += n, len -= n) {
		n = text_utf8_length(text, len);
		fuzz_check(n > 0);
	}
}

static void check_number(const struct json_node *node)
{
	int64_t s;
	uint64_t u;
	double d;

	json_double(node, &d);
	if (json_int64(node, &s) == 0 && s >= 0) {
		fuzz_check(json_uint64(node, &u) == 0);
		fuzz_check(u == (uint64_t)s);
	}
}

/* Depth first, every node once. */
static void check_tree(const struct json_node *root, size_t size)
{
	const struct json_node *node = root;
	char pointer[64];

	for (;;) {
		fuzz_check(node->offset < size);
		fuzz_check(!!node->key == (node->parent && node->parent->type == JSON_OBJECT));
		if (node->key)
			check_text(node->key, strlen(node->key));
		if (node->type == JSON_STRING)
			check_text(node->text, node->len);
		if (node->type == JSON_NUMBER)
			check_number(node);
		json_pointer(node, pointer, sizeof(pointer));
		fuzz_check(strlen(pointer) < sizeof(pointer));
		if (node->child) {
			node = node->child;
			continue;
		}
		while (node != root && !node->next)
			node = node->parent;
		if (node == root)
			return;
		node = node->next;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf first = BUF_INIT;
	cleanup_buf struct buf second = BUF_INIT;
	struct sbx_error err = {0};
	struct json_node *root = NULL;
	struct json_writer w;

	arena_init(&arena, ARENA_BYTES);
	if (json_parse(&arena, "input", (const char *)data, size, &limits, &root, &err) < 0) {
		fuzz_check(!root && err.code != SBX_OK && err.message[0]);
		return 0;
	}
	check_tree(root, size);
	json_writer_init(&w, &first, 0);
	json_write_node(&w, NULL, root);
	fuzz_check(!buf_failed(&first));
	root = NULL;
	fuzz_check(json_parse(&arena, "output", first.data, first.len, &json_limits_config, &root,
			      &err) == 0);
	json_writer_init(&w, &second, 0);
	json_write_node(&w, NULL, root);
	fuzz_check(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	return 0;
}
