//! So many receives whose time runs out at once: how long it takes until all of them have ended.

use std::io::Result;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{timeout_at, Instant};

async fn one(socket: UdpSocket, until: Instant) -> bool {
    let mut buffer = [0; 64];
    timeout_at(until, socket.recv(&mut buffer)).await.is_err()
}

pub async fn run(tasks: u64) -> Result<()> {
    let mut sockets = Vec::new();
    for _ in 0..tasks {
        sockets.push(UdpSocket::bind("127.0.0.1:0").await?);
    }
    let until = Instant::now() + Duration::from_secs(1);
    let ends: Vec<_> = sockets.into_iter().map(|s| tokio::spawn(one(s, until))).collect();
    tokio::task::yield_now().await;
    assert!(Instant::now() < until, "not all receive before the time is over");
    for end in ends {
        assert!(end.await.expect("a task has failed"), "a receive has ended by itself");
    }
    let ns = Instant::now().duration_since(until).as_nanos();
    println!("{{\"version\": \"tokio\", \"ns\": {ns}}}");
    Ok(())
}
