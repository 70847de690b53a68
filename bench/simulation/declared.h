/* declared.h: put before each source of the library, which is compiled with these names for what it
 * calls. */
#ifndef VOLT_SIMULATION_DECLARED_H
#define VOLT_SIMULATION_DECLARED_H
#define VOLT_AT_LOAD_(place) __attribute__((unused)) /* no constructor runs before the machine */
#define VOLT_AT_UNLOAD_ __attribute__((unused))      /* and no destructor after it */
void sim_pause(void);                                /* volt_cpu_relax_() */
#endif
