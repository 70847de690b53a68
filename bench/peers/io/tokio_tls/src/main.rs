//! Echo over TLS by tokio-rustls: a task for each connection, on the runtime of one thread, or on that of
//! $BENCH_WORKERS threads; the certificate is in $BENCH_DIR.
//!
//!     bench-io-tokio-tls PORT    as ../../../../programs/io/tls.h says

use std::fs::File;
use std::io::{BufReader, Result};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::rustls::{Certificate, PrivateKey, ServerConfig, Ticketer};
use tokio_rustls::TlsAcceptor;

const BYTES: usize = 16384;

async fn echo(client: TcpStream, acceptor: TlsAcceptor) -> Result<()> {
    let mut client = acceptor.accept(client).await?;
    let mut buffer = vec![0; BYTES];
    loop {
        let n = client.read(&mut buffer).await?;
        if n == 0 {
            return client.shutdown().await;
        }
        client.write_all(&buffer[..n]).await?;
        client.flush().await?;
    }
}

fn file(name: &str) -> BufReader<File> {
    let at = std::env::var("BENCH_DIR").expect("BENCH_DIR");
    BufReader::new(File::open(format!("{at}/{name}")).expect(name))
}

fn config() -> ServerConfig {
    let chain = rustls_pemfile::certs(&mut file("tls.pem")).expect("tls.pem");
    let keys = rustls_pemfile::pkcs8_private_keys(&mut file("tls.key")).expect("tls.key");
    let mut config = ServerConfig::builder()
        .with_safe_defaults()
        .with_no_client_auth()
        .with_single_cert(chain.into_iter().map(Certificate).collect(), PrivateKey(keys[0].clone()))
        .expect("a certificate and its key");
    config.ticketer = Ticketer::new().expect("keys of tickets"); // as the others have
    config
}

async fn serve(port: u16) -> Result<()> {
    let acceptor = TlsAcceptor::from(Arc::new(config()));
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (client, _) = listener.accept().await?;
        client.set_nodelay(true)?;
        tokio::spawn(echo(client, acceptor.clone()));
    }
}

fn usage() -> ! {
    eprintln!("usage: bench-io-tokio-tls PORT");
    std::process::exit(2)
}

fn main() -> Result<()> {
    let runtime = match std::env::var("BENCH_WORKERS") {
        Ok(workers) => Builder::new_multi_thread()
            .worker_threads(workers.parse().unwrap_or_else(|_| usage()))
            .enable_all()
            .build()?,
        Err(_) => Builder::new_current_thread().enable_all().build()?,
    };
    let port = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or_else(|| usage());
    runtime.block_on(serve(port))
}
