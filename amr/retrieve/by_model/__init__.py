"""What models do while a question is answered: they type it, judge the evidence, and answer from it."""
