/** For routes of decisions without SIP edges. */
export const noPermits = {
  prepare: () => Promise.reject(new Error('there are no permits')),
}
