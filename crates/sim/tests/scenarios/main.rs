//! A scenario for every requirement that the engine or the store decides, and for every way in
//! which others are known to fail. The requirement's number begins the test's name.

mod launch;
