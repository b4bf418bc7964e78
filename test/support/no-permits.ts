/** For routes of decisions without SIP edges. */
export const noPermits = {
  prepare: () => Promise.reject(new Error('there are no permits')),
}

/** For routes of decisions that nobody counts the errors of. */
export const noRecentCalls = { noteError: () => undefined }

/** For routes of decisions that remember none. */
export const noRepeats = {
  of: () => ({
    begin: async () => undefined,
    record: async () => undefined,
    left: () => undefined,
  }),
}
