/** What a test opens for the rest of its file; the set-up of every file closes it after its last test. */

type Close = () => Promise<void>

const open: Close[] = []

/** For a running test too, in which a hook of its own would come too late. */
export function closeAtEnd(close: Close): void {
  open.push(close)
}

export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((close) => close()))
}
