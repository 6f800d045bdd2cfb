//! Independent mock servers from package registries, driven end to end.
