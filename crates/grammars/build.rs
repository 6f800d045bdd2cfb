//! Compiles what is left of the parsers in C.

use std::path::Path;

/// Folders below `third_party`, as `src/lib.rs` knows them.
const GRAMMARS: [&str; 4] = ["go", "python", "rust", "tsx"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=third_party");
    for grammar in GRAMMARS {
        let folder = Path::new("third_party").join(grammar);
        let mut build = cc::Build::new();
        build.include(&folder).file(folder.join("parser.c")).std("c11").warnings(false);
        let scanner = folder.join("scanner.c");
        if scanner.exists() {
            build.file(scanner);
        }
        build.flag_if_supported("-utf-8").compile(&format!("upshift-grammar-{grammar}"));
    }
}
