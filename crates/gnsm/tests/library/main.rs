//! The library from outside: one program, so that it is linked once.

mod allocations;
mod both_formats;
mod contract;
mod deep;
mod golden;
mod masks;
mod method;
mod originals;
mod p_values;
mod plain_scorer;
mod public_items;
mod quality;
mod reasons;
mod rooms;
mod shared_data;
