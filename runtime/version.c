/*
 * The build id comes from the program's own PT_NOTE segment (elf(5)): it names the very file that
 * runs, which a version string typed by a person cannot.
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "runtime/version.h"

struct id_target {
	char *out;
	size_t size;
};

static void copy_note(const unsigned char *note, size_t len, struct id_target *target)
{
	while (len >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *head = (const void *)note;
		size_t name = (head->n_namesz + 3u) & ~3u, desc = (head->n_descsz + 3u) & ~3u;
		const unsigned char *id = note + sizeof(*head) + name;

		if (sizeof(*head) + name + desc > len)
			return;
		if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 &&
		    memcmp(note + sizeof(*head), "GNU", 4) == 0) {
			for (size_t i = 0; i < head->n_descsz && 2 * i + 3 <= target->size; i++)
				snprintf(target->out + 2 * i, 3, "%02x", id[i]);
			return;
		}
		note += sizeof(*head) + name + desc;
		len -= sizeof(*head) + name + desc;
	}
}

/* Called for each loaded object; the program itself comes first. */
static int visit_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE)
			copy_note((const unsigned char *)info->dlpi_addr + segment->p_vaddr,
				  segment->p_memsz, data);
	}
	return 1;
}

void version_build_id(char *out, size_t size)
{
	struct id_target target = {out, size};

	out[0] = '\0';
	dl_iterate_phdr(visit_object, &target);
}

void version_describe(struct buf *out)
{
	char id[80];

	version_build_id(id, sizeof(id));
	buf_printf(out, "%s version %s\nbuild: %s\nspec: %s\n", PACKAGE_NAME, PACKAGE_VERSION, id,
		   SBX_SPEC_VERSION);
}
