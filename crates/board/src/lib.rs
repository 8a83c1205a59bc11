//! What the page and the terminal view have in common: the tasks as they change, and their words.
