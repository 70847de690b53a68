/* replay.c: gives each line of a corpus, bytes in hexadecimal, to a fuzzer's function.
 *
 *   replay CORPUS              the corpus, and each of its inputs cut short at every place
 *   replay CORPUS DIRECTORY    writes the inputs as files, for libFuzzer to begin with */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_MAX_BYTES = 1 << 20 };

static size_t read_bytes(const char *line, uint8_t *to) {
  size_t size = 0;
  for (unsigned byte; sscanf(line + 2 * size, "%2x", &byte) == 1; size++) to[size] = (uint8_t)byte;
  return size;
}

static int write_file(const char *directory, unsigned number, const uint8_t *at, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%u", directory, number);
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(at, 1, size, file) != size || fclose(file) != 0) {
    perror(path);
    return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  static char line[LINE_MAX_BYTES];
  static uint8_t bytes[LINE_MAX_BYTES / 2];
  unsigned inputs = 0;
  FILE *corpus = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (corpus == NULL) {
    perror(argc > 1 ? argv[1] : "replay CORPUS [DIRECTORY]");
    return 1;
  }
  while (fgets(line, sizeof line, corpus) != NULL) {
    size_t size = read_bytes(line, bytes);
    if (argc > 2) {
      if (write_file(argv[2], inputs, bytes, size) != 0) return 1;
    } else {
      for (size_t n = 0; n <= size; n++) LLVMFuzzerTestOneInput(bytes, n);
    }
    inputs++;
  }
  printf("%u inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
