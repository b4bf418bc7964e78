/** Waiting no longer than told. */

/** Whether the promise came true in time; it must not reject. */
export async function withinMs(promise: Promise<boolean>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, limitMs))
  })
  const inTime = await Promise.race([promise, late])
  clearTimeout(timer)
  return inTime
}
