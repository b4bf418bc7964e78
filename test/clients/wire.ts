/** Requests of clients byte by byte, over a connection of their own. */
import { openRaw, type RawReply } from '../fake-vendor/raw-client.js'

/** The lines of the head without `Host` and `Content-Length`, which are added; ends with the body. */
export async function exchange(
  url: string,
  head: readonly string[],
  body?: string,
): Promise<RawReply> {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const lines = [...head, `Host: ${new URL(url).host}`, ...length, '', body ?? '']
  const connection = await openRaw(url)
  try {
    connection.send(lines.join('\r\n'))
    return await connection.reply()
  } finally {
    connection.close()
  }
}
