/*
 * Theory of operation: blocks of growing size are cut from their front; a request that does not
 * fit the rest of the newest block opens a new one, and a large request gets a block of its own
 * behind the newest, so that the rest of that one is still used. Under AddressSanitizer every
 * request is a block of exactly its size, so that an overrun is seen.
 */
#include "runtime/base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define ARENA_EXACT 1
#else
#define ARENA_EXACT 0
#endif

#define ARENA_ALIGN	16
#define GROW_FIRST	8
#define BLOCK_MIN_BYTES ((size_t)8 << 10)
#define BLOCK_MAX_BYTES ((size_t)256 << 10)

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	size_t pad; /* keeps data aligned */
	unsigned char data[];
};

_Static_assert(sizeof(struct arena_block) % ARENA_ALIGN == 0, "blocks keep the alignment");

void arena_init(struct arena *arena, size_t limit_bytes)
{
	*arena = (struct arena){.limit_bytes = limit_bytes};
}

void arena_release(struct arena *arena)
{
	struct arena_block *block = arena->head;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	arena->head = NULL;
	arena->used_bytes = 0;
}

static struct arena_block *new_block(size_t size)
{
	struct arena_block *block;

	if (size > SIZE_MAX - sizeof(*block))
		return NULL;
	/* Each request clears its own part, so that what no request takes is never touched. */
	block = malloc(sizeof(*block) + size);
	if (block)
		*block = (struct arena_block){.size = size};
	return block;
}

/* A block with room for need bytes. The head stays the block that small requests are cut from. */
static struct arena_block *block_for(struct arena *arena, size_t need)
{
	struct arena_block *head = arena->head, *block;
	size_t size = BLOCK_MIN_BYTES;
	bool own;

	if (head && head->size - head->used >= need)
		return head;
	if (head)
		size = head->size < BLOCK_MAX_BYTES / 2 ? head->size * 2 : BLOCK_MAX_BYTES;
	if (size < BLOCK_MIN_BYTES)
		size = BLOCK_MIN_BYTES;
	own = ARENA_EXACT || need > size / 4;
	block = new_block(own ? need : size);
	if (!block)
		return NULL;
	if (own && head) {
		block->next = head->next;
		head->next = block;
	} else {
		block->next = head;
		arena->head = block;
	}
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block;
	size_t need = size ? size : 1;
	void *data;

	if (need > SIZE_MAX - ARENA_ALIGN)
		return NULL;
	if (!ARENA_EXACT)
		need = (need + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (need > arena->limit_bytes - arena->used_bytes)
		return NULL;
	block = block_for(arena, need);
	if (!block)
		return NULL;
	data = block->data + block->used;
	block->used += need;
	arena->used_bytes += need;
	return memset(data, 0, need);
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return arena_alloc(arena, total);
}

/* The room is 8, 16, 32...: full where n is one of these. */
void *arena_grow(struct arena *arena, void *v, size_t n, size_t size)
{
	void *grown;

	if (n != 0 && (n < GROW_FIRST || (n & (n - 1)) != 0))
		return v;
	grown = arena_alloc_array(arena, n ? n * 2 : GROW_FIRST, size);
	return grown && n ? memcpy(grown, v, n * size) : grown;
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = arena_alloc(arena, len + 1);
	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args, again;
	char *text = NULL;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	if (len >= 0)
		text = arena_alloc(arena, (size_t)len + 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}
