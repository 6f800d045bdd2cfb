//! The one HTTP client: TLS, proxies, CAs, time limits.
