//! lib
pub mod buffer;
pub mod parameters;

#[cfg(feature = "suite")]
pub mod allocator;
#[cfg(feature = "suite")]
pub mod cases;
#[cfg(feature = "suite")]
pub mod environment;
#[cfg(feature = "suite")]
pub mod routine;
#[cfg(feature = "suite")]
pub mod workload;
