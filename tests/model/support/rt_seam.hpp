// rt_seam.hpp: what the runtime's sources need so that the checker can run them; included before all
// else in every file of a program that is built of them.
//
// What is one for each thread is one for each thread of the model: "static _Thread_local volt_worker
// *this_worker" declares the function that is called wherever this_worker stands; so with serving_rt.
#ifndef VOLT_RT_SEAM_HPP
#define VOLT_RT_SEAM_HPP

#define _Thread_local                    \
  inline void volt_model_unused_(void) { \
  }                                      \
  extern
#define this_worker (*volt_model_this_worker_())
#define serving_rt (*volt_model_serving_rt_())

#endif
