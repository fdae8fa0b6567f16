// DIGITS is the folder that `gossamer compile --emit static-lib --name digits` wrote.
fn main() {
    println!("cargo:rerun-if-env-changed=DIGITS");
    println!("cargo:rustc-link-search=native={}", std::env::var("DIGITS").expect("DIGITS is not set"));
    println!("cargo:rustc-link-lib=static=digits");
}
