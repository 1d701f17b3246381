"""The rewrites, one a file, in folders by what they do."""
