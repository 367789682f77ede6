/*
 * The proof: what was seen of a running container's boundary, piece by piece.
 *
 * Each piece of evidence is a mechanism, the probe that was made of it, what its positive control
 * and the probe itself came to, and the guarantees that it carries. A guarantee is proved where at
 * least one piece carries it and every piece that does holds.
 */
#ifndef SBX_SPEC_PROOF_H
#define SBX_SPEC_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/json_write.h"
#include "spec/profile.h"

struct evidence {
	const char *mechanism; /* "seccomp", "landlock", "mount", "namespace", ... */
	const char *probe;     /* what was tried, or looked at */
	const char *control;   /* what the control came to */
	const char *outcome;   /* what the probe came to */
	const char *reason;    /* in words; "": it holds and there is nothing to say */
	uint32_t carries;      /* GUARANTEE_BIT()s */
	bool proved;
};

struct proof {
	struct arena *arena;
	struct evidence *v;
	size_t n, cap;
	uint32_t lost; /* bits of evidence that could not be recorded */
};

/* Texts are copied. What cannot be recorded proves nothing. */
void proof_add(struct proof *proof, const struct evidence *evidence);

/* printf for the texts of evidence, in the proof's memory; never NULL. */
const char *proof_text(const struct proof *proof, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Which of the claimed bits are proved. */
uint32_t proof_bits(const struct proof *proof, uint32_t claimed);

/* The member "verify" of `report --verify`: each claimed guarantee with its evidence. */
void proof_write(struct json_writer *w, const char *key, const struct proof *proof,
		 uint32_t claimed);

#endif
