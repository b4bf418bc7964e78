/**
 * Runs the closers one after the other, even if one fails. Rejects at the end with the error, or with
 * an `AggregateError` of several.
 */
export async function closeInOrder(
  closers: readonly (() => Promise<void> | void | undefined)[],
): Promise<void> {
  const causes: unknown[] = []
  for (const close of closers) {
    try {
      await close()
    } catch (cause) {
      causes.push(cause)
    }
  }
  if (causes.length > 1)
    throw new AggregateError(causes, `${causes.length} parts could not be closed`)
  if (causes.length === 1) throw causes[0]
}
