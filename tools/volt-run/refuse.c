/* refuse.c: what the file of a program says: whether a library can be loaded before its own, and whether it
 * counts on being the first one itself. */
#define _GNU_SOURCE /* memmem */
#include "refuse.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct image {
  const char *at;
  size_t size;
};

static bool image_has(const struct image *i, uint64_t offset, uint64_t size) {
  return offset <= i->size && size <= i->size - offset;
}

static const Elf64_Phdr *image_segment(const struct image *i, uint32_t type) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)i->at;
  if (!image_has(i, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr))) return NULL;
  const Elf64_Phdr *segment = (const Elf64_Phdr *)(const void *)(i->at + head->e_phoff);
  for (unsigned n = 0; n < head->e_phnum; n++) {
    if (segment[n].p_type == type) return &segment[n];
  }
  return NULL;
}

/* In the names of what it needs, or offers, from other files. */
static bool image_names(const struct image *i, const char *name) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)i->at;
  if (!image_has(i, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr))) return false;
  const Elf64_Shdr *section = (const Elf64_Shdr *)(const void *)(i->at + head->e_shoff);
  for (unsigned n = 0; n < head->e_shnum; n++) {
    bool is_names = section[n].sh_type == SHT_STRTAB && (section[n].sh_flags & SHF_ALLOC);
    if (!is_names || !image_has(i, section[n].sh_offset, section[n].sh_size)) continue;
    if (memmem(i->at + section[n].sh_offset, section[n].sh_size, name, strlen(name))) return true;
  }
  return false;
}

static const char *refuse_elf(const struct image *i) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)i->at;
#ifdef __x86_64__
  const Elf64_Half machine = EM_X86_64;
#else
  const Elf64_Half machine = EM_AARCH64;
#endif
  if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != machine)
    return "it is of another machine";
  if (!image_segment(i, PT_INTERP)) {
    return "it is linked statically: no library can be loaded before its own";
  }
  const Elf64_Phdr *interpreter = image_segment(i, PT_INTERP);
  if (!image_has(i, interpreter->p_offset, interpreter->p_filesz) ||
      !memmem(i->at + interpreter->p_offset, interpreter->p_filesz, "/ld-linux",
              strlen("/ld-linux"))) {
    return "it is of another C library than glibc";
  }
  if (image_names(i, "__tsan_init") || image_names(i, "libtsan.so")) {
    return "it is built with ThreadSanitizer, which watches the same calls";
  }
  if (image_names(i, "libasan.so")) {
    return "it is built with AddressSanitizer, which has to be the first library itself: link it "
           "with "
           "-static-libasan";
  }
  return NULL;
}

static const char *refuse_rights(const char *path, const struct stat *is) {
  bool changes_user = (is->st_mode & S_ISUID) && is->st_uid != getuid();
  bool changes_group = (is->st_mode & S_ISGID) && is->st_gid != getgid();
  if (changes_user || changes_group) return "it runs with another user's rights (setuid, setgid)";
  if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) {
    return "it has rights of its own (capabilities)";
  }
  return NULL;
}

const char *refuse_why(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat is;
  if (file < 0) return NULL;
  if (fstat(file, &is) != 0) is.st_size = 0;
  const char *why = refuse_rights(path, &is);
  void *memory = MAP_FAILED;
  if (!why && is.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
    memory = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) return why;
  const struct image i = {(const char *)memory, (size_t)is.st_size};
  if (memcmp(i.at, ELFMAG, SELFMAG) == 0)
    why = refuse_elf(&i); /* else a script: its interpreter is watched */
  munmap(memory, i.size);
  return why;
}
