/**
 * Limits of the caches for database reads. The hot path needs no query, and changes by another process
 * take effect within a second. Each cache is cleared after a commit of this process.
 */
export const readCacheLimits = { ttlMs: 1000, maxEntries: 10_000 }
