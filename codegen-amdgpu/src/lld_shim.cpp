// A C interface to LLD's ELF linker: messages come back as a string, and nothing ends the process.

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>
#include <string>

LLD_HAS_DRIVER(elf)

// Runs `ld.lld` with `count` arguments (the program's name is added here). Returns 0 on success. `*messages` gets what
// the linker printed, to be given to `tegula_lld_free`. `*usable` says whether LLD may be called again.
extern "C" int tegula_lld_link(const char *const *arguments, size_t count, char **messages, int *usable) {
  llvm::SmallVector<const char *, 16> args = {"ld.lld"};
  args.append(arguments, arguments + count);
  std::string text;
  llvm::raw_string_ostream stream(text);
  lld::Result result = lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}});
  stream.flush();
  *messages = strdup(text.c_str());
  *usable = result.canRunAgain;
  return result.retCode;
}

extern "C" void tegula_lld_free(char *messages) { free(messages); }
