/*
 * Two passes over the bytes. The first (check_bytes) accepts or refuses what yajl decides wrongly
 * or not at all: encoding, NUL, surrogate escapes. The second streams through yajl, whose callbacks
 * append nodes to the tree under construction; no token is ever handed out before it is complete,
 * so a refusal leaves nothing but arena memory behind.
 *
 * yajl tells in a callback how many bytes it has consumed, that is the end of the token. Between
 * two tokens lie only blanks, commas and colons, so the start of a value is found by skipping those
 * from the end of the token before.
 *
 * Keys of one object are compared when the object ends: pairwise when there are few, else sorted by
 * hash and text. The sort bounds the cost also for keys chosen to collide.
 */
#include "spec/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/text.h"

#define FEW_KEYS	  16
#define TEXT_BLOCK_BYTES  2048
#define TEXT_SHARED_BYTES 256 /* longer texts get an allocation of their own */
#define DETAIL_MAX	  320

const struct json_limits json_limits_config = {
	.max_bytes = (size_t)16 << 20,
	.max_depth = 64,
	.max_values = 1u << 20,
	.max_string_bytes = (size_t)1 << 20,
};

const struct json_limits json_limits_profile = {
	.max_bytes = (size_t)256 << 10,
	.max_depth = 16,
	.max_values = 16u << 10,
	.max_string_bytes = (size_t)64 << 10,
};

struct builder {
	struct arena *arena;
	const char *what, *data;
	size_t len;
	const struct json_limits *limits;
	struct sbx_error *err;

	yajl_handle yajl;
	bool completing; /* inside yajl_complete_parse(): its offsets are not ours */
	size_t token_end;
	int failure; /* set by a callback that stopped the parse */

	struct json_node *root, *parent;
	struct json_node *last[JSON_DEPTH_MAX]; /* last child so far of each open container */
	uint32_t depth, values;
	char *key; /* seen, its value not yet */
	char *text;
	size_t text_left; /* of the current shared block */
};

/* ---- messages ---- */

static size_t line_of(const char *data, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += data[i] == '\n';
	return line;
}

/* Refuse the document; node (may be NULL) gives the pointer. Returns result. */
static int refuse(struct builder *b, int result, size_t offset, const struct json_node *node,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static int refuse(struct builder *b, int result, size_t offset, const struct json_node *node,
		  const char *fmt, ...)
{
	char pointer[sizeof(b->err->pointer)] = "";
	char detail[DETAIL_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	if (node)
		json_pointer(node, pointer, sizeof(pointer));
	if (pointer[0])
		sbx_fail_at(b->err, SBX_E_INVALID_JSON, pointer,
			    "parse %s: line %zu, byte %zu, at \"%s\": %s", b->what,
			    line_of(b->data, offset), offset, pointer, detail);
	else
		sbx_fail_at(b->err, SBX_E_INVALID_JSON, pointer, "parse %s: line %zu, byte %zu: %s",
			    b->what, line_of(b->data, offset), offset, detail);
	return result;
}

static int refuse_memory(struct builder *b)
{
	return sbx_fail(b->err, SBX_E_RESOURCE_LIMIT, ENOMEM, "parse %s", b->what);
}

/* ---- first pass: the raw bytes ---- */

static bool word_is_plain(const char *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
	uint64_t w, x;

	memcpy(&w, p, sizeof(w));
	x = w ^ (ones * '\\');
	return ((w | ((w - ones) & ~w) | ((x - ones) & ~x)) & highs) == 0;
}

/* The four hex digits behind "\u" at offset; -1 where they are not there (yajl will say so). */
static long escape_value(const char *data, size_t len, size_t offset)
{
	long value = 0;

	if (len - offset < 6 || data[offset] != '\\' || data[offset + 1] != 'u')
		return -1;
	for (size_t i = offset + 2; i < offset + 6; i++) {
		char c = data[i];

		if (c >= '0' && c <= '9')
			value = value * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* Check the escape at *offset and move behind it. A backslash outside of a string is left to yajl,
 * which takes none there. */
static int check_escape(struct builder *b, size_t *offset)
{
	long value = escape_value(b->data, b->len, *offset);
	long low;

	if (value < 0) {
		*offset += 2;
		return 0;
	}
	if (value == 0)
		return refuse(b, -EINVAL, *offset, NULL, "the escape \\u0000 is not allowed");
	if (value >= 0xdc00 && value <= 0xdfff)
		return refuse(b, -EINVAL, *offset, NULL,
			      "the low surrogate \\u%04lx has no high surrogate before it", value);
	if (value >= 0xd800 && value <= 0xdbff) {
		low = escape_value(b->data, b->len, *offset + 6);
		if (low < 0xdc00 || low > 0xdfff)
			return refuse(b, -EINVAL, *offset, NULL,
				      "the high surrogate \\u%04lx has no low surrogate behind it",
				      value);
		*offset += 6;
	}
	*offset += 6;
	return 0;
}

static int check_bytes(struct builder *b)
{
	const char *data = b->data;
	size_t i = 0, n;
	int r;

	if (b->len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
		return refuse(b, -EINVAL, 0, NULL, "a byte order mark is not allowed");
	while (i < b->len) {
		if (b->len - i >= 8 && word_is_plain(data + i)) {
			i += 8;
		} else if (data[i] == '\\') {
			r = check_escape(b, &i);
			if (r < 0)
				return r;
		} else if (data[i] == '\0') {
			return refuse(b, -EINVAL, i, NULL, "a NUL byte is not allowed");
		} else {
			n = text_utf8_length(data + i, b->len - i);
			if (n == 0)
				return refuse(b, -EINVAL, i, NULL, "the bytes are not UTF-8");
			i += n;
		}
	}
	return 0;
}

/* ---- second pass: the tree ---- */

/* Stop yajl: the recorded failure is what json_parse() returns. */
static int stop(struct builder *b, int failure)
{
	b->failure = failure;
	return 0;
}

static bool is_between_tokens(char c)
{
	return c == ' ' || c == '\n' || c == ',' || c == ':' || c == '\t' || c == '\r';
}

/* Offset of the token that was just completed; moves token_end behind it. */
static size_t token_start(struct builder *b)
{
	size_t start = b->token_end;

	while (start < b->len && is_between_tokens(b->data[start]))
		start++;
	b->token_end = b->completing ? b->len : yajl_get_bytes_consumed(b->yajl);
	return start;
}

static char *keep_text(struct builder *b, const char *text, size_t len)
{
	char *copy;

	if (len >= TEXT_SHARED_BYTES)
		return arena_strndup(b->arena, text, len);
	if (b->text_left < len + 1) {
		b->text = arena_alloc(b->arena, TEXT_BLOCK_BYTES);
		b->text_left = b->text ? TEXT_BLOCK_BYTES : 0;
		if (!b->text)
			return NULL;
	}
	copy = b->text;
	memcpy(copy, text, len);
	copy[len] = '\0';
	b->text += len + 1;
	b->text_left -= len + 1;
	return copy;
}

/* Append a new node to the open container; NULL with the failure recorded. */
static struct json_node *add_node(struct builder *b, enum json_type type)
{
	struct json_node *node;

	if (b->values >= b->limits->max_values) {
		stop(b, refuse(b, -EFBIG, token_start(b), b->parent, "more than %u values",
			       b->limits->max_values));
		return NULL;
	}
	node = arena_alloc(b->arena, sizeof(*node));
	if (!node) {
		stop(b, refuse_memory(b));
		return NULL;
	}
	b->values++;
	node->type = type;
	node->offset = token_start(b);
	node->key = take_ptr(b->key);
	node->parent = b->parent;
	if (!b->parent) {
		b->root = node;
		return node;
	}
	if (b->last[b->depth - 1])
		b->last[b->depth - 1]->next = node;
	else
		b->parent->child = node;
	b->last[b->depth - 1] = node;
	b->parent->count++;
	return node;
}

static int add_text(struct builder *b, enum json_type type, const char *text, size_t len)
{
	struct json_node *node = add_node(b, type);

	if (!node)
		return 0;
	if (len > b->limits->max_string_bytes)
		return stop(b, refuse(b, -EFBIG, node->offset, node,
				      "a value is longer than %zu bytes",
				      b->limits->max_string_bytes));
	node->text = keep_text(b, text, len);
	node->len = len;
	if (!node->text)
		return stop(b, refuse_memory(b));
	return 1;
}

static int open_container(struct builder *b, enum json_type type)
{
	struct json_node *node = add_node(b, type);
	uint32_t max = b->limits->max_depth;

	if (!node)
		return 0;
	if (max > JSON_DEPTH_MAX)
		max = JSON_DEPTH_MAX;
	if (b->depth >= max)
		return stop(b, refuse(b, -EFBIG, node->offset, node,
				      "arrays and objects are nested deeper than %u levels", max));
	b->last[b->depth++] = NULL;
	b->parent = node;
	return 1;
}

static int close_container(struct builder *b)
{
	token_start(b);
	b->parent = b->parent->parent;
	b->depth--;
	return 1;
}

/* ---- duplicate keys ---- */

struct key_entry {
	uint32_t hash;
	const struct json_node *node;
};

static uint32_t key_hash(const char *key)
{
	uint32_t hash = UINT32_C(2166136261); /* FNV-1a */

	while (*key)
		hash = (hash ^ (unsigned char)*key++) * UINT32_C(16777619);
	return hash;
}

static int key_compare(const void *left, const void *right)
{
	const struct key_entry *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return strcmp(a->node->key, b->node->key);
}

static int refuse_duplicate(struct builder *b, const struct json_node *x, const struct json_node *y)
{
	const struct json_node *second = x->offset > y->offset ? x : y;

	return refuse(b, -EINVAL, second->offset, second, "the key \"%.64s\" is there twice",
		      second->key);
}

static int check_few_keys(struct builder *b, const struct json_node *object)
{
	for (const struct json_node *x = object->child; x; x = x->next)
		for (const struct json_node *y = x->next; y; y = y->next)
			if (strcmp(x->key, y->key) == 0)
				return refuse_duplicate(b, x, y);
	return 0;
}

static int check_many_keys(struct builder *b, const struct json_node *object)
{
	cleanup_free struct key_entry *entries = calloc(object->count, sizeof(*entries));
	size_t n = 0;

	if (!entries)
		return refuse_memory(b);
	for (const struct json_node *m = object->child; m; m = m->next)
		entries[n++] = (struct key_entry){key_hash(m->key), m};
	qsort(entries, n, sizeof(*entries), key_compare);
	for (size_t i = 1; i < n; i++)
		if (key_compare(&entries[i - 1], &entries[i]) == 0)
			return refuse_duplicate(b, entries[i - 1].node, entries[i].node);
	return 0;
}

/* ---- yajl's callbacks: 1 goes on, 0 stops ---- */

static int on_null(void *ctx)
{
	return add_node(ctx, JSON_NULL) != NULL;
}

static int on_boolean(void *ctx, int value)
{
	return add_node(ctx, value ? JSON_TRUE : JSON_FALSE) != NULL;
}

static int on_number(void *ctx, const char *text, size_t len)
{
	return add_text(ctx, JSON_NUMBER, text, len);
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	return add_text(ctx, JSON_STRING, (const char *)text, len);
}

static int on_start_map(void *ctx)
{
	return open_container(ctx, JSON_OBJECT);
}

static int on_map_key(void *ctx, const unsigned char *key, size_t len)
{
	struct builder *b = ctx;
	size_t offset = token_start(b);

	if (len > b->limits->max_string_bytes)
		return stop(b,
			    refuse(b, -EFBIG, offset, b->parent, "a key is longer than %zu bytes",
				   b->limits->max_string_bytes));
	b->key = keep_text(b, (const char *)key, len);
	return b->key ? 1 : stop(b, refuse_memory(b));
}

static int on_end_map(void *ctx)
{
	struct builder *b = ctx;
	int r = b->parent->count <= FEW_KEYS ? check_few_keys(b, b->parent)
					     : check_many_keys(b, b->parent);

	return r < 0 ? stop(b, r) : close_container(b);
}

static int on_start_array(void *ctx)
{
	return open_container(ctx, JSON_ARRAY);
}

static int on_end_array(void *ctx)
{
	return close_container(ctx);
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_map_key,
	.yajl_end_map = on_end_map,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end_array,
};

/* yajl's own refusal: its text without the newline and the prefix that says nothing. */
static int refuse_syntax(struct builder *b)
{
	const unsigned char *bytes = (const unsigned char *)b->data;
	size_t offset = b->completing ? b->len : yajl_get_bytes_consumed(b->yajl);
	unsigned char *text = yajl_get_error(b->yajl, 0, bytes, b->len);
	const char *detail = text ? (const char *)text : "";
	int n = (int)strcspn(detail, "\n");

	refuse(b, -EINVAL, offset, b->parent, "%.*s", n, detail);
	if (text)
		yajl_free_error(b->yajl, text);
	return -EINVAL;
}

static int build_tree(struct builder *b)
{
	yajl_status status = yajl_parse(b->yajl, (const unsigned char *)b->data, b->len);

	if (status == yajl_status_ok) {
		b->completing = true;
		status = yajl_complete_parse(b->yajl);
	}
	if (b->failure < 0)
		return b->failure;
	if (status != yajl_status_ok || !b->root)
		return refuse_syntax(b);
	return 0;
}

int json_parse(struct arena *arena, const char *what, const char *data, size_t len,
	       const struct json_limits *limits, struct json_node **ret_root, struct sbx_error *err)
{
	struct builder b = {.arena = arena,
			    .what = what,
			    .data = data,
			    .len = len,
			    .limits = limits,
			    .err = err};
	int r;

	if (len > limits->max_bytes) {
		sbx_fail_at(err, SBX_E_INVALID_JSON, "",
			    "parse %s: the document has %zu bytes, at most %zu are allowed", what,
			    len, limits->max_bytes);
		return -EFBIG;
	}
	r = check_bytes(&b);
	if (r < 0)
		return r;
	b.yajl = yajl_alloc(&callbacks, NULL, &b);
	if (!b.yajl)
		return refuse_memory(&b);
	/* check_bytes() has looked at the encoding already, and more strictly. */
	yajl_config(b.yajl, yajl_dont_validate_strings, 1);
	r = build_tree(&b);
	yajl_free(b.yajl);
	if (r == 0)
		*ret_root = b.root;
	return r;
}
