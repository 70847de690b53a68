/* cpp_path.h: the paths of C++ for paths.c: what a guard costs over the functions of C. The objects
 * lie stride bytes apart. */
#ifndef CPP_PATH_H
#define CPP_PATH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void cpp_mutex_take(void *objects, size_t stride, unsigned count);
void cpp_mutex_pair(void *objects, size_t stride, unsigned count);
void cpp_sem_take(void *objects, size_t stride, unsigned count);
void cpp_sem_pair(void *objects, size_t stride, unsigned count);
void cpp_chan_take(void *objects, size_t stride, unsigned count);
void cpp_chan_pair(void *objects, size_t stride, unsigned count);

#ifdef __cplusplus
}
#endif

#endif
