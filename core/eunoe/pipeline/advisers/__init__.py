"""Models that say more of a history than its words: vectors, labels, names, stances."""
