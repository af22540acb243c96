//! Requests built from stored paths: legal whatever was interrupted, and fenced where the text is foreign.
