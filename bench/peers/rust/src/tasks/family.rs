//! What else is in tokio::sync: when nobody waits, when one task does, and in rounds of several.

/// What else is in tokio::sync, when nobody waits. A run whose numbers do not add up panics.
pub mod alone {
    use tokio::runtime::Runtime;
    use tokio::sync::{broadcast, oneshot, watch, Barrier, Notify, OnceCell, Semaphore};

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::tasks::crew::{crew, run_members};
    use crate::tasks::keep;

    const PERMITS: usize = 8;

    fn notify(rt: &Runtime, o: &Options) -> Outcome {
        let notify = keep(Notify::new());
        run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                notify.notify_one();
                notify.notified().await;
            }
        })
    }

    /// A life: made, sent, received, dropped.
    fn oneshots(rt: &Runtime, o: &Options) -> Outcome {
        run_members(rt, o, |_, operations| async move {
            for i in 0..operations {
                let (to, from) = oneshot::channel();
                to.send(i).expect("closed");
                assert_eq!(from.await.expect("closed"), i, "what was sent");
            }
        })
    }

    fn broadcasts(rt: &Runtime, o: &Options) -> Outcome {
        let pass = |operations| {
            let (to, mut from) = broadcast::channel(16);
            let work = async move {
                for i in 0..operations {
                    to.send(i).expect("closed");
                    assert_eq!(from.recv().await.expect("lost"), i, "what was sent");
                }
            };
            crew(rt, vec![work].into_iter())
        };
        pass(o.warm_up());
        pass(o.operations).outcome(o.operations)
    }

    fn watches(rt: &Runtime, o: &Options) -> Outcome {
        let pass = |operations| {
            let (to, mut from) = watch::channel(0u64);
            let work = async move {
                for i in 0..operations {
                    to.send(i).expect("closed");
                    from.changed().await.expect("closed");
                    assert_eq!(*from.borrow_and_update(), i, "what was sent");
                }
            };
            crew(rt, vec![work].into_iter())
        };
        pass(o.warm_up());
        pass(o.operations).outcome(o.operations)
    }

    fn barrier(rt: &Runtime, o: &Options) -> Outcome {
        let barrier = keep(Barrier::new(1));
        run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                assert!(barrier.wait().await.is_leader(), "the only one leads");
            }
        })
    }

    /// Come when it is done.
    fn once(rt: &Runtime, o: &Options) -> Outcome {
        let cell = keep(OnceCell::new_with(Some(7u64)));
        run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                let value = cell.get_or_init(|| async { 0 }).await;
                assert_eq!(*value, 7, "it is done already");
            }
        })
    }

    fn check_permits(semaphore: &Semaphore) {
        let available = semaphore.available_permits();
        assert_eq!(available, PERMITS, "every permit was given back");
    }

    /// How the number of permits is lowered by one, and raised.
    fn limit(rt: &Runtime, o: &Options) -> Outcome {
        let semaphore = keep(Semaphore::new(PERMITS));
        let outcome = run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                semaphore.acquire().await.expect("a permit").forget();
                semaphore.add_permits(1);
            }
        });
        check_permits(semaphore);
        outcome
    }

    /// As one takes whatever is there.
    fn drain(rt: &Runtime, o: &Options) -> Outcome {
        let semaphore = keep(Semaphore::new(PERMITS));
        let outcome = run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                let there = semaphore.available_permits() as u32;
                drop(semaphore.try_acquire_many(there).expect("they are there"));
            }
        });
        check_permits(semaphore);
        outcome
    }

    fn all(rt: &Runtime, o: &Options) -> Outcome {
        let semaphore = keep(Semaphore::new(PERMITS));
        let outcome = run_members(rt, o, move |_, operations| async move {
            for _ in 0..operations {
                let taken = semaphore.acquire_many(PERMITS as u32).await;
                drop(taken.expect("all permits"));
            }
        });
        check_permits(semaphore);
        outcome
    }

    pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
        match o.workload.as_str() {
            "alone-notify" => Some(notify(rt, o)),
            "alone-oneshot" => Some(oneshots(rt, o)),
            "alone-broadcast" => Some(broadcasts(rt, o)),
            "alone-watch" => Some(watches(rt, o)),
            "alone-barrier" => Some(barrier(rt, o)),
            "alone-once" => Some(once(rt, o)),
            "alone-limit" => Some(limit(rt, o)),
            "alone-drain" => Some(drain(rt, o)),
            "alone-all" => Some(all(rt, o)),
            _ => None,
        }
    }
}

/// What else is in tokio::sync, one task awaiting it. With one worker each operation is a wait, a
/// wake and a switch of tasks.
pub mod one_waits {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use tokio::runtime::Runtime;
    use tokio::sync::{oneshot, Notify, Semaphore};
    use tokio::task::yield_now;

    use crate::options::Options;
    use crate::outcome::Outcome;
    use crate::tasks::crew::{crew, run_members};
    use crate::tasks::keep;

    /// Member 0 serves: it tells first.
    fn notify(rt: &Runtime, o: &Options) -> Outcome {
        let of = [keep(Notify::new()), keep(Notify::new())];
        run_members(rt, o, move |i, operations| async move {
            for _ in 0..operations {
                if i == 0 {
                    of[1].notify_one();
                }
                of[i].notified().await;
                if i == 1 {
                    of[0].notify_one();
                }
            }
        })
    }

    /// A number, and where the next one is awaited.
    struct Letter {
        value: u64,
        reply: oneshot::Sender<Letter>,
    }

    type Sender = oneshot::Sender<Letter>;
    type Receiver = oneshot::Receiver<Letter>;

    enum End {
        Serves(Sender),
        Answers(Receiver),
    }

    fn send(to: Sender, value: u64) -> Receiver {
        let (reply, mine) = oneshot::channel();
        assert!(to.send(Letter { value, reply }).is_ok(), "closed");
        mine
    }

    async fn receive(mine: Receiver, value: u64) -> Sender {
        let received = mine.await.expect("closed");
        assert_eq!(received.value, value, "what was sent");
        received.reply
    }

    async fn play(end: End, operations: u64) {
        match end {
            End::Serves(mut to) => {
                for i in 1..=operations {
                    to = receive(send(to, i), i).await;
                }
            }
            End::Answers(mut mine) => {
                for i in 1..=operations {
                    mine = send(receive(mine, i).await, i);
                }
            }
        }
    }

    /// A oneshot is made for each hop, and sent to the one who sends the next.
    fn oneshots(rt: &Runtime, o: &Options) -> Outcome {
        let pass = |operations| {
            let (to, mine) = oneshot::channel();
            let ends = vec![End::Serves(to), End::Answers(mine)];
            crew(rt, ends.into_iter().map(move |end| play(end, operations)))
        };
        pass(o.warm_up());
        pass(o.operations).outcome(2 * o.operations)
    }

    /// The other one adds the permit that I await and make disappear.
    fn limit(rt: &Runtime, o: &Options) -> Outcome {
        let of = [keep(Semaphore::new(0)), keep(Semaphore::new(0))];
        let outcome = run_members(rt, o, move |i, operations| async move {
            for _ in 0..operations {
                if i == 0 {
                    of[1].add_permits(1);
                }
                of[i].acquire().await.expect("a permit").forget();
                if i == 1 {
                    of[0].add_permits(1);
                }
            }
        });
        let left: usize = of.iter().map(|s| s.available_permits()).sum();
        assert_eq!(left, 0, "what was added has been taken");
        outcome
    }

    /// Member 0 takes all of the permits, the other one: held across a yield.
    fn all(rt: &Runtime, o: &Options) -> Outcome {
        let semaphore = keep(Semaphore::new(o.amount));
        let count = keep(AtomicU64::new(0)); // who has all permits counts
        let amount = o.amount as u32;
        let outcome = run_members(rt, o, move |i, operations| async move {
            let permits = if i == 0 { amount } else { 1 };
            for _ in 0..operations {
                let taken = semaphore.acquire_many(permits).await.expect("permits");
                let seen = count.load(Relaxed);
                yield_now().await;
                assert_eq!(count.load(Relaxed), seen, "nobody has had all meanwhile");
                if i == 0 {
                    count.store(seen + 1, Relaxed);
                }
                drop(taken);
            }
        });
        assert_eq!(semaphore.available_permits(), o.amount, "every permit");
        assert_eq!(count.load(Relaxed), o.operations + o.warm_up(), "the count");
        outcome
    }

    pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
        match o.workload.as_str() {
            "notify" => Some(notify(rt, o)),
            "oneshot" => Some(oneshots(rt, o)),
            "limit" => Some(limit(rt, o)),
            "all" => Some(all(rt, o)),
            _ => None,
        }
    }
}

/// What else is in tokio::sync, in rounds of several tasks: one sends and the others receive, or
/// all meet.
pub mod rounds {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::runtime::Runtime;
    use tokio::sync::{broadcast, watch, Barrier, OnceCell};
    use tokio::task::yield_now;

    use crate::options::Options;
    use crate::outcome::{Outcome, Pass};
    use crate::tasks::crew::crew;
    use crate::tasks::keep;

    /// First with an eighth of the rounds. A round is an operation of all tasks.
    fn twice<T>(o: &Options, pass: impl Fn(u64) -> Pass<T>) -> Outcome {
        pass(o.warm_up());
        pass(o.operations).outcome(o.operations)
    }

    /// One who sends yields until all have heard of it: with one worker, once.
    async fn until_heard(heard: &AtomicU64, count: u64) {
        while heard.load(Ordering::Acquire) < count {
            yield_now().await;
        }
    }

    enum Player {
        Sends(broadcast::Sender<u64>),
        Receives(broadcast::Receiver<u64>),
        Publishes(watch::Sender<u64>),
        Watches(watch::Receiver<u64>),
    }

    async fn play(player: Player, heard: &AtomicU64, others: u64, operations: u64) {
        match player {
            Player::Sends(to) => {
                for i in 1..=operations {
                    to.send(i).expect("closed");
                    until_heard(heard, i * others).await;
                }
            }
            Player::Publishes(to) => {
                for i in 1..=operations {
                    to.send(i).expect("closed");
                    until_heard(heard, i * others).await;
                }
            }
            Player::Receives(mut from) => {
                for i in 1..=operations {
                    assert_eq!(from.recv().await.expect("lost"), i, "what was sent");
                    heard.fetch_add(1, Ordering::Release);
                }
            }
            Player::Watches(mut from) => {
                for i in 1..=operations {
                    from.changed().await.expect("closed");
                    assert_eq!(*from.borrow_and_update(), i, "what was sent");
                    heard.fetch_add(1, Ordering::Release);
                }
            }
        }
    }

    fn broadcasts(rt: &Runtime, o: &Options) -> Outcome {
        let others = o.tasks - 1;
        twice(o, |operations| {
            let heard = keep(AtomicU64::new(0));
            let (to, _) = broadcast::channel(16);
            let receive = |_| Player::Receives(to.subscribe());
            let mut players: Vec<_> = (0..others).map(receive).collect();
            players.insert(0, Player::Sends(to));
            let work = move |player| play(player, heard, others as u64, operations);
            crew(rt, players.into_iter().map(work))
        })
    }

    fn watches(rt: &Runtime, o: &Options) -> Outcome {
        let others = o.tasks - 1;
        twice(o, |operations| {
            let heard = keep(AtomicU64::new(0));
            let (to, from) = watch::channel(0);
            let watch = |_| Player::Watches(from.clone());
            let mut players: Vec<_> = (0..others).map(watch).collect();
            players.insert(0, Player::Publishes(to));
            let work = move |player| play(player, heard, others as u64, operations);
            crew(rt, players.into_iter().map(work))
        })
    }

    /// Returns how often it was the leader.
    async fn meet(barrier: &Barrier, operations: u64) -> u64 {
        let mut led = 0;
        for _ in 0..operations {
            led += u64::from(barrier.wait().await.is_leader());
        }
        led
    }

    fn barrier(rt: &Runtime, o: &Options) -> Outcome {
        let tasks = o.tasks;
        let barrier = keep(Barrier::new(tasks));
        twice(o, |operations| {
            let done = crew(rt, (0..tasks).map(move |_| meet(barrier, operations)));
            let led = done.results.iter().sum::<u64>();
            assert_eq!(led, operations, "one leads a round");
            done
        })
    }

    /// Who comes first begins, and yields, so that the others come and wait. Returns how often it has
    /// begun.
    async fn come_to_each(cells: &[OnceCell<u64>]) -> u64 {
        let mut begun = 0;
        for (i, cell) in cells.iter().enumerate() {
            let count = &mut begun;
            let begin = move || async move {
                yield_now().await;
                *count += 1;
                i as u64
            };
            assert_eq!(*cell.get_or_init(begin).await, i as u64, "what was done");
        }
        begun
    }

    fn once(rt: &Runtime, o: &Options) -> Outcome {
        let tasks = o.tasks;
        twice(o, |operations| {
            let cells = keep((0..operations).map(|_| OnceCell::new()).collect::<Vec<_>>());
            let done = crew(rt, (0..tasks).map(move |_| come_to_each(cells)));
            let begun = done.results.iter().sum::<u64>();
            assert_eq!(begun, operations, "once each");
            done
        })
    }

    pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
        match o.workload.as_str() {
            "broadcast" => Some(broadcasts(rt, o)),
            "watch" => Some(watches(rt, o)),
            "barrier" => Some(barrier(rt, o)),
            "once" => Some(once(rt, o)),
            _ => None,
        }
    }
}
