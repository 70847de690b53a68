//! Echo and relay by Tokio: a task for each connection, on the runtime of one thread, or on that of
//! $BENCH_WORKERS threads.
//!
//!     bench-io-tokio PORT [TO_PORT]    as ../../../../programs/io/server.h says
//!     bench-io-tokio cancel --tasks N  as ../../../../programs/io/cancel.h says

mod cancel;

use std::io::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

const BYTES: usize = 16384;

async fn echo(mut client: TcpStream) -> Result<()> {
    let mut buffer = vec![0; BYTES];
    loop {
        let n = client.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        client.write_all(&buffer[..n]).await?;
    }
}

/// An error, also for the end of what comes: it ends the other direction, too.
async fn pass(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> Result<()> {
    let mut buffer = vec![0; BYTES];
    loop {
        let n = from.read(&mut buffer).await?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        to.write_all(&buffer[..n]).await?;
    }
}

async fn relay(mut client: TcpStream, to: u16) -> Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to)).await?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(pass(from_client, to_server), pass(from_server, to_client)).map(drop)
}

async fn serve(port: u16, to: Option<u16>) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (client, _) = listener.accept().await?;
        client.set_nodelay(true)?;
        match to {
            None => tokio::spawn(echo(client)),
            Some(to) => tokio::spawn(relay(client, to)),
        };
    }
}

fn usage() -> ! {
    eprintln!("usage: bench-io-tokio PORT [TO_PORT]");
    std::process::exit(2)
}

fn main() -> Result<()> {
    use tokio::runtime::Builder;
    let runtime = match std::env::var("BENCH_WORKERS") {
        Ok(workers) => Builder::new_multi_thread()
            .worker_threads(workers.parse().unwrap_or_else(|_| usage()))
            .enable_all()
            .build()?,
        Err(_) => Builder::new_current_thread().enable_all().build()?,
    };
    let given: Vec<String> = std::env::args().skip(1).collect();
    if given.len() >= 3 && given[..2] == ["cancel", "--tasks"] {
        let tasks = given[2].parse().unwrap_or_else(|_| usage());
        return runtime.block_on(cancel::run(tasks));
    }
    let ports: Vec<u16> = given.iter().map(|p| p.parse().unwrap_or_else(|_| usage())).collect();
    match ports[..] {
        [port] => runtime.block_on(serve(port, None)),
        [port, to] => runtime.block_on(serve(port, Some(to))),
        _ => usage(),
    }
}
