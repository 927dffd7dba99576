//! A result that is on its way: a future that needs no runtime and no polling of the device.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::{Error, Result};

/// A result on its way. Await it, or [`wait`](Pending::wait). Dropping it forgets the result and disturbs nothing.
#[must_use = "this is how the result arrives"]
pub struct Pending<R>(Option<Pin<Box<dyn Future<Output = Result<R>> + Send>>>);

impl<R: Send + 'static> Pending<R> {
    pub(crate) fn new(future: impl Future<Output = Result<R>> + Send + 'static) -> Self {
        Pending(Some(Box::pin(future)))
    }

    pub(crate) fn ready(result: Result<R>) -> Self {
        Pending::new(std::future::ready(result))
    }

    /// What `work` gives, or its error when awaited.
    pub(crate) fn of(work: impl FnOnce() -> Result<Pending<R>>) -> Self {
        work().unwrap_or_else(|error| Pending::ready(Err(error)))
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Device`], and whatever went wrong on the way here.
    pub fn wait(self) -> Result<R> {
        pollster::block_on(self)
    }

    /// The result with `change` applied.
    pub fn map<S: Send + 'static>(self, change: impl FnOnce(R) -> S + Send + 'static) -> Pending<S> {
        Pending::new(async move { self.await.map(change) })
    }

    /// The result of `change` on the result.
    pub(crate) fn and_then<S: Send + 'static>(
        self,
        change: impl FnOnce(R) -> Result<S> + Send + 'static,
    ) -> Pending<S> {
        Pending::new(async move { change(self.await?) })
    }
}

impl<R> Future for Pending<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Ready(Err(Error::Device("the result has been given before".to_string())));
        };
        let result = std::task::ready!(future.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(result)
    }
}

impl<R> std::fmt::Debug for Pending<R> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Pending")
    }
}
