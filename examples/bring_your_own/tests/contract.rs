//! The contract, on the own buffer.

writeonce::contract!(bring_your_own::Boxed, 1);
