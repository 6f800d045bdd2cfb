//! The loopback server: a listener, and a task for each connection on this thread.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::call::Handler;
use super::{Gateway, Ledger};

/// The most connections at a time. Agents with many sub-agents have some dozens.
const MOST_CONNECTIONS: usize = 256;

/// A listener that nobody is answered at yet.
#[derive(Debug)]
pub struct Open {
    listener: TcpListener,
    address: SocketAddr,
}

/// Opens a port of the kernel's choice on loopback.
///
/// # Errors
/// When there is none.
pub async fn open() -> std::io::Result<Open> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    Ok(Open { listener, address })
}

impl Open {
    /// A listener that was opened elsewhere.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn of(listener: std::net::TcpListener) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener: TcpListener::from_std(listener)?, address })
    }

    /// The address as a base URL: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until the other future is done, then cuts the connections that are still under way, which settles their calls. Needs to run
    /// in a [`tokio::task::LocalSet`].
    pub async fn serve_during<T>(self, gateway: Gateway, ledger: &Rc<Ledger>, other: impl Future<Output = T>) -> T {
        let handler = Handler::new(gateway, ledger);
        let mut connections = JoinSet::new();
        tokio::pin!(other);
        let done = loop {
            tokio::select! {
                biased;
                accepted = self.listener.accept(), if connections.len() < MOST_CONNECTIONS => {
                    // A connection that is gone again, or no descriptor left for one: the next may do.
                    if let Ok((stream, _)) = accepted {
                        connections.spawn_local(converse(stream, handler.clone()));
                    }
                }
                // Takes out those that ended, or they would count as open for ever.
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                done = &mut other => break done,
            }
        };
        connections.shutdown().await;
        done
    }
}

async fn converse(stream: TcpStream, handler: Handler) {
    // Small pieces of a stream are to go on at once.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let handler = handler.clone();
        async move { Ok::<_, Infallible>(handler.answer(request).await) }
    });
    // A client that breaks off has no need to be told.
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}
