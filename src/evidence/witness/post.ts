/** Sends heads over HTTP. */

/** Of a time stamp with its certificates. */
const maxAnswerBytes = 65_536
const timeoutMs = 10_000

export interface PostAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
}

/** Rejects if there is no answer within ten seconds, or a long one. The address is not in the message: it may be secret. */
export async function post(
  url: string,
  contentType: string,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<PostAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': contentType },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return {
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      body: await readAnswer(response),
    }
  } catch (cause) {
    // `fetch` gives the reason, such as a refused connection, as the cause of its error.
    throw cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  }
}

async function readAnswer({ body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) throw new Error(`the answer is longer than ${maxAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** For messages. */
export function describeAnswer({ status, body }: PostAnswer): string {
  const text = body
    .subarray(0, 200)
    .toString('latin1')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
  return text === '' ? `it answered ${status}` : `it answered ${status}: ${text}`
}
