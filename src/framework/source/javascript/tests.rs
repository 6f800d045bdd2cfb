//! Tests of JavaScript and TypeScript files are found and changed.
