"""Text: index terms, sentences, ranking of small sets, quotes, answers made of quotes."""
