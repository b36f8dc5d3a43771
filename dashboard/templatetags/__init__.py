"""What templates may say: quantities, icons, kinds, bars."""
