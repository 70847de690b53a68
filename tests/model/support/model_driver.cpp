// model_driver.cpp: see model_driver.hpp; and the doorbells, which the operating system keeps.
#include "model_driver.hpp"

#include "core/os/futex.h"
#include "model_kernel.hpp"

// A doorbell is told from others by the address of the word that it counts in; or it is of model_kernel.
static VOLT_ATOMIC(uint32_t) *words[3];

void model_doorbell(volt_doorbell *bell, int i, VOLT_ATOMIC(uint32_t) *word) {
  bell->next = nullptr;
  bell->eventfd = i;
  words[i] = word;
}

model_driver::model_driver(model_rt &rt_, sleeps how_, completed_fn *completed_, void *ctx_)
    : rt(rt_), how(how_), completed(completed_), ctx(ctx_) {
  memset(&ops, 0, sizeof ops);
  ops.name = "model";
  ops.begin = begin;
  ops.check = check;
  ops.must_sleep = must_sleep;
  ops.wants_keeper = wants_keeper;
  ops.has_mail = has_mail;
  ops.sleep = sleep;
  ops.end = end;
  ops.destroy = destroy;
  base.driver.ops = &ops;
  base.self = this;
  destroyed = 0;
  volt_store_relaxed(&is_wanted, 0u);
  rt->driver = &base.driver;
  for (unsigned i = 0; i < 3; i++) {
    share *s = &shares[i];
    volt_store_relaxed(&s->word, 0u);
    volt_store_relaxed(&s->done, 0u);
    volt_store_relaxed(&s->mails, 0u);
    s->seen = 0;
    s->life = 0;
    model_doorbell(&s->bell, static_cast<int>(i), &s->word);
    if (i < rt->workers) rt->worker[i].doorbell = &s->bell;
  }
}

model_driver *model_driver::of(volt_driver_ *driver) {
  return reinterpret_cast<struct base *>(driver)->self;
}

static void count_up(VOLT_ATOMIC(uint32_t) *word) {
  volt_fetch_add_relaxed(word, 1u);
  volt_futex_wake32_(word, 1);
}

void model_driver::complete(unsigned worker) {
  unsigned i = share_of(worker);
  volt_fetch_add_relaxed(&shares[i].done, 1u);
  for (unsigned w = 0; w < rt->workers; w++) {
    if (w == worker || how == sleeps::keeper) count_up(&shares[w].word); // whichever sleeps there
  }
}

void model_driver::want_keeper() {
  volt_store_relaxed(&is_wanted, 1u); // what is promised of wants_keeper()
  volt_rt_keeper_wanted_(rt.handle());
}

void model_driver::mail(unsigned worker) {
  volt_store_relaxed(&shares[worker].mails, 1u); // what is promised of has_mail()
  volt_rt_mail_left_(rt.handle(), worker);
}

void model_driver::expect_gone(unsigned workers) {
  for (unsigned i = 0; i < workers; i++) EXPECT(shares[i].life == 2);
  EXPECT(destroyed == 1);
}

uint32_t model_driver::take(VOLT_ATOMIC(uint32_t) *from) {
  uint32_t n = volt_exchange_relaxed(from, 0u); // an RMW, as a system call would be: the newest
  for (uint32_t i = 0; i < n; i++) completed(ctx);
  return n;
}

void model_driver::begin(volt_driver_ *driver, unsigned worker) {
  EXPECT(of(driver)->shares[worker].life == 0);
  of(driver)->shares[worker].life = 1;
}

unsigned model_driver::check(volt_driver_ *driver, unsigned worker) {
  model_driver *self = of(driver);
  share *s = &self->shares[worker];
  EXPECT(s->life == 1 && volt_rt_worker_here_(self->rt.handle()) == static_cast<int>(worker));
  uint32_t done = self->take(&self->shares[self->share_of(worker)].done);
  return done + self->take(&s->mails);
}

bool model_driver::must_sleep(volt_driver_ *driver, unsigned, bool is_keeper) {
  sleeps how = of(driver)->how;
  return how == sleeps::always || (how == sleeps::keeper && is_keeper);
}

bool model_driver::wants_keeper(volt_driver_ *driver) {
  model_driver *self = of(driver);
  return self->how == sleeps::keeper &&
         (self->is_wanted_at_first || volt_load_relaxed(&self->is_wanted) != 0);
}

bool model_driver::has_mail(volt_driver_ *driver, unsigned worker) {
  return volt_load_relaxed(&of(driver)->shares[worker].mails) != 0;
}

unsigned model_driver::sleep(volt_driver_ *driver, unsigned worker, uint64_t deadline_ns) {
  share *s = &of(driver)->shares[worker];
  unsigned found = check(driver, worker);
  if (found > 0) return found;
  if (volt_futex_wait32_(&s->word, s->seen, deadline_ns) == VOLT_ETIMEDOUT) return 0;
  s->seen = volt_fetch_add_relaxed(&s->word, 0u);
  return check(driver, worker);
}

void model_driver::end(volt_driver_ *driver, unsigned worker) {
  EXPECT(of(driver)->shares[worker].life == 1);
  of(driver)->shares[worker].life = 2;
}

void model_driver::destroy(volt_driver_ *driver) {
  of(driver)->destroyed = of(driver)->destroyed + 1;
}

// ---- what the sources call ----

void volt_doorbell_ring_(volt_doorbell *bell) {
  if (bell->eventfd >= model_kernel::bell) {
    model_kernel::ring_bell(bell->eventfd);
  } else {
    count_up(words[bell->eventfd]);
  }
}

volt_doorbell *volt_doorbell_take_(void) {
  return nullptr;
}

void volt_doorbell_give_(volt_doorbell *) {
}
