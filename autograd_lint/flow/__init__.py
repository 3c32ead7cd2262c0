"""How a tensor's story travels: conditions, values, what torch calls do, and the interpreter that follows them."""
