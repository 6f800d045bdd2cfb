//! The way from an endpoint to its [`Provider`].

use std::sync::Arc;

use super::Provider;
use super::anthropic::Anthropic;
use super::channel::Channel;
use super::endpoint::{Endpoint, EndpointError, Wire};
use super::gemini::Gemini;
use super::ollama::Ollama;
use super::openai::OpenAi;
use crate::domain::clock::Clock;
use crate::http::Http;

impl Endpoint {
    /// Makes the provider. Nothing is sent, and no certificate is loaded before the first call.
    ///
    /// The clock serves `Retry-After` dates.
    ///
    /// # Errors
    /// [`EndpointError`] when the URL or the key cannot be used.
    pub fn connect(self, http: &Http, clock: Arc<dyn Clock>) -> Result<Box<dyn Provider>, EndpointError> {
        let base = self.parsed_base()?;
        Ok(match self.wire {
            Wire::Anthropic => Box::new(Anthropic::new(Channel::new(&self, http, clock)?, &base)),
            Wire::OpenAi => Box::new(OpenAi::new(Channel::new(&self, http, clock)?, &self, base)),
            Wire::Gemini => Box::new(Gemini::new(Channel::new(&self, http, clock)?, base)),
            Wire::Ollama => Box::new(Ollama::new(Channel::new(&self, http, clock)?, base)),
        })
    }
}
