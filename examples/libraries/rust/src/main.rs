//! The digit that 784 raw floats on stdin show: `DIGITS=lib cargo run < image.raw`.
use std::{ffi::CStr, io::Read, os::raw::{c_char, c_int, c_void}};

/// As digits.h has it.
#[repr(C)]
struct Values {
    image: *const f32,
    image_bytes: usize,
    probabilities: *mut f32,
    probabilities_bytes: usize,
}

extern "C" {
    fn digits_init(model: *mut *mut c_void, threads: c_int) -> c_int;
    fn digits_run(model: *mut c_void, values: *mut Values) -> c_int;
    fn digits_free(model: *mut c_void);
    fn digits_message(code: c_int) -> *const c_char;
}

fn check(code: c_int) {
    if code != 0 {
        panic!("{}", unsafe { CStr::from_ptr(digits_message(code)) }.to_string_lossy());
    }
}

fn main() {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).expect("stdin");
    let image: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let mut probabilities = [0f32; 10];
    let mut values = Values {
        image: image.as_ptr(),
        image_bytes: image.len() * 4,
        probabilities: probabilities.as_mut_ptr(),
        probabilities_bytes: 40,
    };
    let mut model = std::ptr::null_mut();
    unsafe {
        check(digits_init(&mut model, 1));
        check(digits_run(model, &mut values));
        digits_free(model);
    }
    let best = (0..10).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b])).unwrap();
    println!("{best}");
}
