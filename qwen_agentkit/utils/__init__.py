"""Small functions that know no agent."""
