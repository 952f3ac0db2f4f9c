//! How much this thread has asked the allocator for: work that is counted instead of timed.

#![allow(unsafe_code, reason = "an allocator is an unsafe trait; this one only counts and hands on to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static N_BYTES: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is handed on to `System` as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn count(size: usize) {
    // A thread that ends has no counter any more.
    let _ = N_BYTES.try_with(|n| n.set(n.get() + size as u64));
}

/// The bytes that `work` allocates on this thread, freed or not.
pub(crate) fn bytes_allocated(work: impl FnOnce()) -> u64 {
    let before = N_BYTES.with(Cell::get);
    work();
    N_BYTES.with(Cell::get) - before
}
