"""A report of an audit as a document: Markdown for a post-mortem, a page of HTML, JUnit for build servers, JSON."""
