//! flume, by its asynchronous methods.

use std::future::Future;

pub use flume::{bounded, Receiver, Sender};
use flume::{RecvError, SendError};

#[path = "channels.rs"]
#[allow(clippy::duplicate_mod)] // once for each engine
pub mod channels;

fn send(to: &Sender<u64>, value: u64) -> impl Future<Output = Result<(), SendError<u64>>> + '_ {
    to.send_async(value)
}

fn recv(from: &mut Receiver<u64>) -> impl Future<Output = Result<u64, RecvError>> + '_ {
    from.recv_async()
}

fn receivers(from: Receiver<u64>, most: usize) -> Vec<Receiver<u64>> {
    vec![from; most]
}
