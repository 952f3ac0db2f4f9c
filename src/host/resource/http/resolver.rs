//! Names to addresses, of which only those are handed on that may be asked. The connection goes to one of them; nobody
//! resolves the name a second time.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::resource::http::guard::Guard;

/// How names become addresses; a test brings its own.
pub trait Resolver: Send + Sync {
    /// All addresses of a name.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// As the operating system does it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// A resolver for reqwest that asks another one and checks what it says.
pub(super) struct GuardedResolver {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) guard: Arc<Guard>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.resolver.resolve(name.as_str());
        let guard = self.guard.clone();
        Box::pin(async move {
            let found = found.await?;
            let mut refusal = None;
            let mut addresses = Vec::new();
            for address in found {
                match guard.check_address(address, Some(name.as_str())) {
                    Ok(()) => addresses.push(SocketAddr::new(address, 0)),
                    Err(refused) => refusal = refusal.or(Some(refused)),
                }
            }
            match (addresses.is_empty(), refusal) {
                (true, Some(refusal)) => Err(refusal.into()),
                (true, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into()),
                (false, _) => Ok(Box::new(addresses.into_iter()) as Addrs),
            }
        })
    }
}
