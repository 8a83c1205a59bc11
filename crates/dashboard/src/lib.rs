//! The page: a server on loopback for one person, and what their browser shows.
