//! async-channel.

use std::future::Future;

pub use async_channel::{bounded, Receiver, Sender};
use async_channel::{RecvError, SendError};

#[path = "channels.rs"]
#[allow(clippy::duplicate_mod)] // once for each engine
pub mod channels;

fn send(to: &Sender<u64>, value: u64) -> impl Future<Output = Result<(), SendError<u64>>> + '_ {
    to.send(value)
}

fn recv(from: &mut Receiver<u64>) -> impl Future<Output = Result<u64, RecvError>> + '_ {
    from.recv()
}

fn receivers(from: Receiver<u64>, most: usize) -> Vec<Receiver<u64>> {
    vec![from; most]
}
