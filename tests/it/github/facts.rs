//! One test per fact about GitHub that touches the client, named after its number.
