//! tokio_util::sync::CancellationToken.

use std::cell::UnsafeCell;

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::crew::run_members;
use super::keep;
use crate::options::Options;
use crate::outcome::Outcome;

/// Is it cancelled?
fn alone(rt: &Runtime, o: &Options) -> Outcome {
    let token = keep(CancellationToken::new());
    run_members(rt, o, move |_, operations| async move {
        for _ in 0..operations {
            assert!(!token.is_cancelled(), "nobody has cancelled it");
        }
    })
}

/// A token that its owner renews between two cancels.
struct Place(UnsafeCell<CancellationToken>);

// SAFETY: one at a time looks into it: the owner from when it was cancelled until it cancels the
// other one's, that one from then on.
unsafe impl Sync for Place {}

impl Place {
    fn token(&self) -> CancellationToken {
        // SAFETY: see above; a clone, as the owner may renew it while cancel() still returns.
        unsafe { (*self.0.get()).clone() }
    }

    fn renew(&self) -> CancellationToken {
        let token = CancellationToken::new();
        // SAFETY: see above.
        unsafe { *self.0.get() = token.clone() };
        token
    }
}

/// A token is made for each hop: before the other one is told, who cancels it.
fn hops(rt: &Runtime, o: &Options) -> Outcome {
    let place = || keep(Place(UnsafeCell::new(CancellationToken::new())));
    let of = [place(), place()];
    run_members(rt, o, move |i, operations| async move {
        let mut mine = of[i].token();
        for _ in 0..operations {
            if i == 0 {
                mine = of[0].renew();
                of[1].token().cancel();
            }
            mine.cancelled().await;
            assert!(mine.is_cancelled(), "it is cancelled");
            if i == 1 {
                mine = of[1].renew();
                of[0].token().cancel();
            }
        }
    })
}

pub fn run(rt: &Runtime, o: &Options) -> Option<Outcome> {
    match o.workload.as_str() {
        "alone-token" => Some(alone(rt, o)),
        "token" => Some(hops(rt, o)),
        _ => None,
    }
}
