"""What requests cost: prices, the cache that was hit, the ledger, and whether a cut pays."""
