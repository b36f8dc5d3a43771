"""What can be said of recordings of ordinary engines: was every output given to the outside once?"""
