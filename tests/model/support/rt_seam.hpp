// rt_seam.hpp: what the runtime's sources need so that the checker can run them; included before all
// else in every file of a program that is built of them.
//
// What is one for each thread is one for each thread of the model. For worker.c,
// "static _Thread_local volt_worker *this_worker": declares the function that is called wherever
// this_worker stands.
#ifndef VOLT_RT_SEAM_HPP
#define VOLT_RT_SEAM_HPP

#define _Thread_local                    \
  inline void volt_model_unused_(void) { \
  }                                      \
  extern
#define this_worker (*volt_model_this_worker_())

#endif
