//! tokio::sync::mpsc, which has one receiver: it receives everything.

use std::future::Future;

use tokio::sync::mpsc::error::SendError;
pub use tokio::sync::mpsc::{channel as bounded, Receiver, Sender};

#[path = "channels.rs"]
#[allow(clippy::duplicate_mod)] // once for each engine
pub mod channels;

fn send(to: &Sender<u64>, value: u64) -> impl Future<Output = Result<(), SendError<u64>>> + '_ {
    to.send(value)
}

fn recv(from: &mut Receiver<u64>) -> impl Future<Output = Option<u64>> + '_ {
    from.recv()
}

fn receivers(from: Receiver<u64>, _most: usize) -> Vec<Receiver<u64>> {
    vec![from]
}
