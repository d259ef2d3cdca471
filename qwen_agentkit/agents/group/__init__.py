"""Teams: who speaks next, when a talk ends, what each member sees, what is remembered."""
