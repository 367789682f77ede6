/*
 * A growing arena: many small objects that live and die together (a parsed document, a plan).
 *
 * Every allocation is zeroed, aligned to 16 bytes and charged against the arena's limit; a failed
 * allocation returns NULL and leaves the arena usable. Nothing is freed singly.
 */
#ifndef SBX_BASE_ARENA_H
#define SBX_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *head;
	size_t used_bytes;
	size_t limit_bytes;
};

/* An empty arena that will hand out at most limit_bytes; it allocates nothing yet. */
void arena_init(struct arena *arena, size_t limit_bytes);

/* Release all blocks; every pointer into the arena becomes invalid. Safe to call twice. */
void arena_release(struct arena *arena);

/* size zeroed bytes, or NULL when memory or the limit is exhausted. size 0 gives a valid pointer.
 */
void *arena_alloc(struct arena *arena, size_t size);

/* count * size zeroed bytes; NULL also where the product overflows. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);

/*
 * Room for element n of an array that has grown by this function alone, one element at a time: v
 * itself, or a larger copy of it (NULL for n = 0 at first). NULL as above.
 */
void *arena_grow(struct arena *arena, void *v, size_t n, size_t size);

/* A NUL-terminated copy of len bytes. */
char *arena_strndup(struct arena *arena, const char *text, size_t len);
char *arena_strdup(struct arena *arena, const char *text);

/* printf into the arena; NULL when exhausted. */
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define cleanup_arena __attribute__((cleanup(arena_release)))

#endif
