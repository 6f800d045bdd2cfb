//! The wires against the scripted vendor.
