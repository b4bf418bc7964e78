/** Reads an answer that goes on, such as server-sent events. */

export interface StreamReader {
  readonly status: number
  readonly headers: Headers
  /** Reads on until the text has this, or is as wanted. */
  waitFor(wanted: string | ((text: string) => boolean)): Promise<string>
  /** Resolves with all of it when the server ends it. */
  readAll(): Promise<string>
  leave(): void
}

export async function openStreamReader(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<StreamReader> {
  const stop = new AbortController()
  const response = await fetch(url, { headers, signal: stop.signal, redirect: 'manual' })
  const source = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const readPart = async () => {
    const part = await source?.read()
    text += part?.value ?? ''
    return part?.done !== true
  }
  return {
    status: response.status,
    headers: response.headers,
    async waitFor(wanted) {
      const isThere = () => (typeof wanted === 'string' ? text.includes(wanted) : wanted(text))
      while (!isThere()) {
        if (!(await readPart())) throw new Error(`ended without ${wanted}: ${text}`)
      }
      return text
    },
    async readAll() {
      while (await readPart());
      return text
    },
    leave: () => stop.abort(),
  }
}
