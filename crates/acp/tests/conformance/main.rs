//! The protocol's own library on the other side: what we write by hand, it must understand.

mod rehearsal;
