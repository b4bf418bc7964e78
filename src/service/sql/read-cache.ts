/**
 * Of what is read from the database: the hot path answers without a query, and a change made by
 * another process is still seen within a second. Cleared after each own write has been committed.
 */
export const readCacheLimits = { ttlMs: 1000, maxEntries: 10_000 }
