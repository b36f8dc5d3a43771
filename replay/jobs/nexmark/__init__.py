"""NEXMark: an auction house's persons, auctions and bids, and queries over them."""
