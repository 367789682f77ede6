/*
 * What this build is: version, the newest specification it follows, and the linker's build id.
 */
#ifndef SBX_RUNTIME_VERSION_H
#define SBX_RUNTIME_VERSION_H

#include "runtime/base/buf.h"

#define SBX_SPEC_VERSION "1.3.0"

/* Lines of --version: "sbx-runtime version X", "build: HEX", "spec: Y", "features: +LANDLOCK ...".
 */
void version_describe(struct buf *out);

/* Lower-case hex of the GNU build id note of this program, or "" where the linker wrote none. */
void version_build_id(char *out, size_t size);

#endif
